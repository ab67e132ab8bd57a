//! Plots as SVG. Colours come from the page's style, so that they suit light, dark and print.

use std::fmt::Write;

/// Size of a plot in its own units.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
/// Room for the labels of the axes.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 50.0;
/// Colours that the page's style has.
const COLOURS: usize = 8;

/// An axis: what it shows, from where to where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    label: &'static str,
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    /// A linear axis from 0 that holds `values`.
    pub(super) fn linear(label: &'static str, values: impl Iterator<Item = f64>) -> Self {
        let most = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let to = if most > 0.0 { most } else { 1.0 };
        Self {
            label,
            from: 0.0,
            to,
            log: false,
        }
    }

    /// A logarithmic axis over whole decades that hold the positive ones of `values`.
    pub(super) fn log(label: &'static str, values: impl Iterator<Item = f64>) -> Self {
        let positive = values.filter(|v| v.is_finite() && *v > 0.0);
        let (least, most) = positive.fold((f64::INFINITY, 0.0f64), |(least, most), v| {
            (least.min(v), most.max(v))
        });
        if most == 0.0 {
            return Self::log(label, [0.1, 10.0].into_iter());
        }
        let from = 10f64.powf(least.log10().floor());
        let to = 10f64.powf(most.log10().ceil());
        Self {
            label,
            from,
            to: if to > from { to } else { 10.0 * from },
            log: true,
        }
    }

    /// Its ends.
    pub(super) fn ends(&self) -> [f64; 2] {
        [self.from, self.to]
    }

    /// Where `value` stands, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let place = |v: f64| if self.log { v.log10() } else { v };
        (place(value) - place(self.from)) / (place(self.to) - place(self.from))
    }

    /// Values with a line and a label.
    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let decades = (self.to / self.from).log10().round();
            let step = (decades / 8.0).ceil().max(1.0);
            let count = (decades / step).floor();
            return steps(count)
                .map(|k| self.from * 10f64.powf(k * step))
                .collect();
        }
        let raw = (self.to - self.from) / 5.0;
        let unit = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|m| m * unit)
            .into_iter()
            .find(|step| *step >= raw)
            .unwrap_or(raw);
        steps((self.to / step).floor()).map(|k| k * step).collect()
    }
}

fn steps(count: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(0.0), |k| Some(k + 1.0)).take_while(move |k| *k <= count)
}

/// The label of a tick.
fn label(value: f64) -> String {
    if value == 0.0 {
        "0".into()
    } else if (1e-3..1e4).contains(&value.abs()) {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:.0e}")
    }
}

/// Text as HTML has it.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A line chart or scatter plot being drawn.
pub(super) struct Plot {
    x: Axis,
    y: Axis,
    body: String,
    legend: Vec<(usize, String)>,
}

impl Plot {
    pub(super) fn new(x: Axis, y: Axis) -> Self {
        Self {
            x,
            y,
            body: String::new(),
            legend: Vec::new(),
        }
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (
            LEFT + self.x.place(x) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - self.y.place(y) * (HEIGHT - TOP - BOTTOM),
        )
    }

    /// A line through points, in colour `colour`; what a logarithmic axis cannot show is left out.
    pub(super) fn line(&mut self, name: &str, colour: usize, points: &[(f64, f64)], dashed: bool) {
        let shown = points.iter().filter(|(x, y)| {
            let fits = |axis: &Axis, v: f64| v.is_finite() && (!axis.log || v > 0.0);
            fits(&self.x, *x) && fits(&self.y, *y)
        });
        let path: Vec<String> = shown
            .map(|&point| {
                let (x, y) = self.at(point);
                format!("{x:.1},{y:.1}")
            })
            .collect();
        let dash = if dashed { " dashed" } else { "" };
        let _ = write!(
            self.body,
            "<polyline class=\"line c{}{dash}\" points=\"{}\"/>",
            colour % COLOURS,
            path.join(" ")
        );
        self.legend.push((colour, name.to_owned()));
    }

    /// A point in colour `colour`.
    pub(super) fn point(&mut self, name: &str, colour: usize, point: (f64, f64)) {
        if !(point.0 > 0.0 && point.1 > 0.0 && point.0.is_finite() && point.1.is_finite()) {
            return;
        }
        let (x, y) = self.at(point);
        let _ = write!(
            self.body,
            "<circle class=\"fill c{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"><title>{}: {} {}, {} {}</title></circle>",
            colour % COLOURS,
            escaped(name),
            label(point.0),
            self.x.label,
            label(point.1),
            self.y.label,
        );
        self.legend.push((colour, name.to_owned()));
    }

    /// The finished plot with its legend; `title` is for those who do not see it.
    pub(super) fn finish(self, title: &str) -> String {
        let mut svg = open(title, HEIGHT);
        for tick in self.x.ticks() {
            let (x, _) = self.at((tick, self.y.from));
            let bottom = HEIGHT - BOTTOM;
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/><text class=\"tick middle\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                bottom + 22.0,
                label(tick)
            );
        }
        for tick in self.y.ticks() {
            let (_, y) = self.at((self.x.from, tick));
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick end\" x=\"{}\" y=\"{:.1}\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                label(tick)
            );
        }
        let _ = write!(
            svg,
            "<text class=\"axis middle\" x=\"{}\" y=\"{}\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 8.0,
            self.x.label
        );
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        let _ = write!(
            svg,
            "<text class=\"axis middle\" transform=\"translate(14 {middle}) rotate(-90)\">{}</text>",
            self.y.label
        );
        svg + &self.body + "</svg>" + &legend(&self.legend)
    }
}

/// One horizontal bar a name, made of parts with a colour each: (name, parts, text at its end).
pub(super) fn bars(title: &str, parts: &[&str], rows: &[(String, Vec<f64>, String)]) -> String {
    const ROW: f64 = 30.0;
    const NAMES: f64 = 150.0;
    const TEXTS: f64 = 200.0;
    let sum = |values: &[f64]| values.iter().filter(|v| v.is_finite()).sum::<f64>();
    let most = rows
        .iter()
        .map(|(_, values, _)| sum(values))
        .fold(0.0, f64::max);
    let mut svg = open(title, ROW * rows.len() as f64 + 4.0);
    let mut top = 4.0;
    for (name, values, text) in rows {
        let _ = write!(
            svg,
            "<text class=\"name end\" x=\"{}\" y=\"{}\">{}</text>",
            NAMES - 8.0,
            top + 16.0,
            escaped(name)
        );
        let mut x = NAMES;
        for (colour, value) in values.iter().enumerate() {
            let width = (WIDTH - NAMES - TEXTS) * value / most;
            if width.is_finite() && width > 0.0 {
                let part = parts.get(colour).copied().unwrap_or_default();
                let _ = write!(
                    svg,
                    "<rect class=\"fill c{}\" x=\"{x:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"22\"><title>{} {}</title></rect>",
                    colour % COLOURS,
                    escaped(part),
                    label(*value)
                );
                x += width;
            }
        }
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"{:.1}\" y=\"{}\">{}</text>",
            x + 8.0,
            top + 16.0,
            escaped(text)
        );
        top += ROW;
    }
    let names: Vec<_> = parts
        .iter()
        .map(|part| (*part).to_owned())
        .enumerate()
        .collect();
    svg + "</svg>" + &legend(&names)
}

/// One horizontal bar a name, with a text at its end, as an SVG file that needs no page.
pub fn bar_chart(title: &str, rows: &[(String, f64, String)]) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|(name, value, text)| (name.clone(), vec![*value], text.clone()))
        .collect();
    let of_page = bars(title, &[], &rows);
    let (open, rest) = of_page.split_once('>').expect("an element");
    let style = include_str!("style.css");
    format!("{open} xmlns=\"http://www.w3.org/2000/svg\"><style>{style}</style>{rest}\n")
}

fn open(title: &str, height: f64) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        escaped(title)
    )
}

fn legend(entries: &[(usize, String)]) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(colour, name)| {
            format!(
                "<span><i class=\"c{}\"></i>{}</span>",
                colour % COLOURS,
                escaped(name)
            )
        })
        .collect();
    if entries.is_empty() {
        return String::new();
    }
    format!("<p class=\"legend\">{}</p>", entries.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values_and_have_few_ticks() {
        let axis = Axis::log("r", [1e-16, 0.3, f64::NAN, 0.0].into_iter());
        assert!(axis.place(1e-16).abs() < 1e-12 && (axis.place(1.0) - 1.0).abs() < 1e-12);
        assert!((4..=10).contains(&axis.ticks().len()), "{:?}", axis.ticks());
        for most in [0.0, 0.07, 1.0, 50.0, 12345.0] {
            let ticks = Axis::linear("n", [most].into_iter()).ticks();
            assert!((3..=7).contains(&ticks.len()), "{most}: {ticks:?}");
        }
    }

    #[test]
    fn a_bar_chart_is_one_element_with_its_style() {
        let svg = bar_chart("t", &[("a<b".into(), 1.0, "1 of 2".into())]);
        assert!(
            svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
            "{svg}"
        );
        assert!(svg.contains("xmlns=") && svg.contains("--c0") && svg.contains("a&lt;b"));
    }

    #[test]
    fn names_are_escaped_and_gaps_left_out() {
        let x = Axis::linear("x", [2.0].into_iter());
        let y = Axis::log("y", [1.0, 10.0].into_iter());
        let mut plot = Plot::new(x, y);
        plot.line(
            "<a&b>",
            0,
            &[(0.0, 1.0), (1.0, f64::NAN), (2.0, 10.0)],
            false,
        );
        let svg = plot.finish("\"t\"");
        assert!(svg.contains("&lt;a&amp;b&gt;") && svg.contains("&quot;t&quot;"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
