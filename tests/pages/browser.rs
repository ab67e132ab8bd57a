//! Pages as a headless Chromium shows them: light, dark, narrow and on paper. A script, added to a
//! copy of the page, looks for what a person would complain about.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;

use super::{page, runs};

/// What the script says.
#[derive(Debug, Deserialize)]
struct Seen {
    dark: bool,
    width: u32,
    headings: Vec<String>,
    plots: usize,
    faults: Vec<String>,
}

/// Runs the browser on a page in `dir`; what it writes is relative to that.
fn chromium(dir: &Path, args: &[&str], page: &str) -> Output {
    let output = Command::new("timeout")
        .args(["120", "chromium", "--headless", "--no-sandbox"])
        .args(["--disable-gpu", "--disable-quic", "--disable-sync"])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .args(args)
        .arg(format!("file://{}", dir.join(page).display()))
        .current_dir(dir)
        .output()
        .expect("timeout, of coreutils, starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "chromium does not work here (tests/run.sh installs it): {error}"
    );
    output
}

/// What the browser makes of a page in a window that is so wide.
fn look(dir: &Path, page: &str, width: u32, dark: bool) -> Seen {
    let script = format!("<script>{}</script></body>", include_str!("look.js"));
    let copy = page.replace("</body>", &script);
    fs::write(dir.join("copy.html"), copy).unwrap();
    let window = format!("--window-size={width},2400");
    // Chromium's numbers for the two schemes.
    let scheme = format!("preferredColorScheme={}", if dark { 0 } else { 1 });
    let blink = format!("--blink-settings={scheme}");
    let output = chromium(dir, &["--dump-dom", &window, &blink], "copy.html");
    let dom = String::from_utf8(output.stdout).unwrap();
    let (_, rest) = dom
        .rsplit_once("<pre id=\"seen\">")
        .expect("the script ran");
    let seen = rest.split_once("</pre>").unwrap().0;
    let seen = seen.replace("&lt;", "<").replace("&gt;", ">");
    let seen: Seen = serde_json::from_str(&seen.replace("&amp;", "&")).unwrap();
    assert_eq!((seen.dark, seen.width), (dark, width));
    seen
}

#[test]
fn pages_look_right_in_light_dark_and_narrow_windows() {
    let dir = runs();
    for (runs, headings, plots) in [
        (
            "one.json --stream stream.json",
            vec!["Residual", "Roofline", "Checks"],
            3,
        ),
        (
            "one.json two.json broken.json",
            vec!["Ratings", "Residual", "Ranks of two"],
            4,
        ),
    ] {
        let page = page(dir.path(), runs);
        for (width, dark) in [(1280, false), (1280, true), (500, false)] {
            let seen = look(dir.path(), &page, width, dark);
            let what = format!("{runs}, {width} wide, dark: {dark}: {seen:#?}");
            assert!(seen.faults.is_empty(), "{what}");
            assert!(seen.plots >= plots, "{what}");
            for heading in &headings {
                assert!(
                    seen.headings.iter().any(|h| h == heading),
                    "{heading}: {what}"
                );
            }
        }
    }
}

#[test]
fn a_page_can_be_printed() {
    let dir = runs();
    page(dir.path(), "one.json two.json");
    chromium(dir.path(), &["--print-to-pdf=page.pdf"], "page.html");
    let pdf = fs::read(dir.path().join("page.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF-") && pdf.len() > 10_000);
}

#[test]
fn the_look_finds_what_is_wrong() {
    let dir = runs();
    let page = page(dir.path(), "one.json");
    for (from, to, fault) in [
        (
            "<main>",
            "<main><div style=\"width: 3000px\">wide</div>",
            "wider than",
        ),
        (
            "</svg>",
            "<text x=\"630\" y=\"100\">beyond the edge</text></svg>",
            "cut off",
        ),
        (
            "</svg>",
            "<text x=\"90\" y=\"9\">aaaa</text><text x=\"92\" y=\"9\">b</text></svg>",
            "one over",
        ),
        ("--ink: #1d2433", "--ink: #dddddd", "hard to read"),
        ("--c0: #2f6fde", "--c0: #eeeeee", "pale"),
    ] {
        assert!(page.contains(from), "{from}");
        let seen = look(dir.path(), &page.replace(from, to), 1280, false);
        assert!(
            seen.faults.iter().any(|f| f.starts_with(fault)),
            "{fault}: {seen:#?}"
        );
    }
}
