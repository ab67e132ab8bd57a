//! cubie: the command line of the library; the only place that prints results or exits.
#![expect(clippy::print_stderr, reason = "this is where errors are printed")]

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Parser;
use cubie::cli::{
    Cli, Command, DeviceFlags, ExplainFlags, HpcgFlags, NetFlags, Outputs, PlanFlags, ReportFlags,
    StreamFlags,
};
use cubie::device::Device;
use cubie::explain::{Explanation, Network, Rates};
use cubie::launch::{agree, is_one_of_several, launch_then, speaks};
use cubie::machine::Machine;
use cubie::net::Net;
use cubie::plan::Plan;
use cubie::results::Alone;
use cubie::run::{Ended, run};
use cubie::saved::run::Run;
use cubie::saved::{self, Kind};
use cubie::stream::{Request, Streams};
use cubie::validate::kernels::check_kernels;
use cubie::{Results, file, gpu, interrupt, progress, report};
use cubie_host::Ranks;

/// Ran, but failed its checks.
const FAILED: u8 = 1;
/// Could not run. Clap exits with the same code.
const COULD_NOT_RUN: u8 = 2;
/// Interrupted twice.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if speaks() => error.exit(),
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(COULD_NOT_RUN);
            return in_silence(code);
        }
    };
    let command = cli.command();
    if !command.is_for_all_ranks() && !speaks() {
        return ExitCode::SUCCESS;
    }
    let outcome = match command {
        Command::Hpcg(flags) => hpcg(&flags),
        Command::Devices => devices(),
        Command::Validate(flags) => validate(&flags),
        Command::Plan(flags) => plan(&flags),
        Command::Stream(flags) => stream(&flags),
        Command::Net(flags) => net(&flags),
        Command::Report(flags) => report_runs(&flags),
        Command::Explain(flags) => explain(&flags),
    };
    match outcome {
        Ok(code) => code,
        Err(_) if !speaks() => in_silence(COULD_NOT_RUN),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

/// Ends a rank that is not the one that speaks for all. `mpirun` ends all as soon as one ends
/// badly: the first is given time to speak.
fn in_silence(code: u8) -> ExitCode {
    std::thread::sleep(std::time::Duration::from_secs(1));
    ExitCode::from(code)
}

fn hpcg(flags: &HpcgFlags) -> anyhow::Result<ExitCode> {
    let stop = stop_on_interrupt()?;
    rate(flags, &stop, |ended| {
        // `mpirun` ends all ranks as soon as one ends badly, so only the one that writes does.
        if !ended.first {
            return Ok(ExitCode::SUCCESS);
        }
        let mut results = ended.results;
        if let Some(alone) = flags.alone()
            && !stop.load(Ordering::Relaxed)
        {
            let rated = rate(&alone, &stop, |ended| {
                Ok(Alone {
                    gflops: ended.results.rating().official,
                    device: ended.results.device.name,
                })
            });
            match rated {
                Ok(rated) => results.alone = rated,
                Err(error) => eprintln!("the first device alone could not be rated: {error:#}"),
            }
        }
        deliver(&results, flags.outputs())?;
        Ok(if results.is_valid() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(FAILED)
        })
    })
    .map(|code| code.unwrap_or(ExitCode::from(COULD_NOT_RUN)))
}

/// Runs the benchmark on the ranks that this process is, and then `last`; nothing if an error has
/// been told.
fn rate<R>(
    flags: &HpcgFlags,
    stop: &AtomicBool,
    last: impl FnOnce(Ended) -> anyhow::Result<R>,
) -> anyhow::Result<Option<R>> {
    let failed = |error: &str| eprintln!("error: {error}");
    let rank = |ranks: &Ranks| run(ranks, flags, stop);
    launch_then(&flags.launch(), rank, last, failed)?.transpose()
}

/// A flag that the first interrupt raises; the second ends the program. Under `mpirun` there is no
/// second: it passes one on in several ways, and ends ranks that take too long by itself.
fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    interrupt::listen(move || {
        let again = raised.swap(true, Ordering::Relaxed);
        let several = is_one_of_several();
        if again && !several {
            std::process::exit(INTERRUPTED);
        }
        if !again && speaks() {
            eprintln!(
                "{}",
                if several {
                    "told to stop: after the current set, with a report if mpirun waits for it"
                } else {
                    "stopping after the current set, with a report; press Ctrl-C again to stop now"
                }
            );
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(stop)
}

/// Writes the report, the log, the JSON and the page, and prints the table.
fn deliver(results: &Results, outputs: &Outputs) -> anyhow::Result<()> {
    let written = report::write(results, &outputs.output);
    let table = if outputs.quiet {
        report::table::line(results)
    } else {
        report::table::table(results, written.as_deref().ok())
    };
    let json = outputs.json.as_deref();
    let json = json.map(|path| (path, report::json::text(results)));
    let page = outputs.html.as_deref().map(|path| {
        let run = Run::of(results.clone());
        let streams = memory_of(&run);
        (path, report::html::page(&[run], streams.as_ref()))
    });
    show(&table, json.into_iter().chain(page))?;
    written?;
    Ok(())
}

/// What the memory of the device gives, for the bound in the page; nothing where several ranks
/// share machines that nobody knows.
fn memory_of(run: &Run) -> Option<Streams> {
    if run.results.ranks > 1 {
        return None;
    }
    let request = Request::of_memory(&run.results, &Machine::here());
    match cubie::stream::run(&run.device_choice(), &request) {
        Ok(streams) => Some(streams),
        Err(error) => {
            eprintln!("the page tells no bound, since the memory could not be measured: {error}");
            None
        }
    }
}

/// Measures what memory and caches of a run's device give to so many bytes as the run works on.
fn memory_now(run: &Run) -> Result<Streams, cubie::Error> {
    let request = Request::beside(&run.results, &Machine::here());
    cubie::stream::run(&run.device_choice(), &request)
}

fn devices() -> anyhow::Result<ExitCode> {
    let list = report::devices::list(&Machine::here(), &gpu::adapters());
    print(&list)?;
    Ok(ExitCode::SUCCESS)
}

/// The box of `cubie validate`: sides that differ, and coarse levels that are odd.
const VALIDATED_BOX: [usize; 3] = [32, 24, 40];

fn validate(flags: &DeviceFlags) -> anyhow::Result<ExitCode> {
    let params = flags.params_of_one(&Machine::here())?;
    let device = Device::open(&params, 0)?;
    let precisions = match params.precision {
        Some(asked) => vec![device.precision(Some(asked), &Ranks::serial())?],
        None => device.precisions(),
    };
    let described = device.describe();
    print(&format!("{} ({})\n", described.name, described.backend))?;
    let mut failed = false;
    for precision in precisions {
        let checks = check_kernels(&device, precision, &params.order, VALIDATED_BOX)?;
        failed |= checks.iter().any(|check| !check.passed());
        print(&report::kernels::table(precision, &checks))?;
    }
    Ok(if failed {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    })
}

fn plan(flags: &PlanFlags) -> anyhow::Result<ExitCode> {
    let machine = Machine::here();
    let params = flags.device.params_of_one(&machine)?;
    let plan = Plan::new(&params, machine, &flags.request())?;
    print(&report::plan::text(&plan))?;
    Ok(ExitCode::SUCCESS)
}

fn stream(flags: &StreamFlags) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !is_one_of_several(),
        "cubie stream measures a machine from one process; start it without mpirun"
    );
    file::probe_all(&[("--json", flags.json.as_deref())], &[])?;
    let streams = cubie::stream::run(&flags.device, &flags.request())?;
    let shown = if flags.csv {
        report::stream::csv(&streams)
    } else {
        report::stream::table(&streams)
    };
    let json = flags.json.as_deref();
    show(
        &shown,
        json.map(|path| (path, report::stream::json(&streams))),
    )?;
    Ok(if streams.is_valid() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    })
}

fn net(flags: &NetFlags) -> anyhow::Result<ExitCode> {
    let json = flags.json.as_deref();
    let rank = |ranks: &Ranks| {
        let first = ranks.rank() == 0;
        let request = agree(ranks, flags.request(ranks.size()))?;
        let probed = match first {
            true => file::probe_all(&[("--json", json)], &[]),
            false => Ok(()),
        };
        agree(ranks, probed)?;
        let net = cubie::net::run(ranks, &request, progress::shown(first).as_mut())?;
        Ok(first.then_some(net))
    };
    let last = |net: Option<Net>| {
        let Some(net) = net else { return Ok(()) };
        let shown = match flags.csv {
            true => report::net::csv(&net),
            false => report::net::text(&net),
        };
        show(&shown, json.map(|path| (path, report::net::json(&net))))
    };
    let failed = |error: &str| eprintln!("error: {error}");
    let shown = launch_then(&flags.launch(), rank, last, failed)?.transpose()?;
    Ok(match shown {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::from(COULD_NOT_RUN),
    })
}

/// Lays saved runs side by side.
fn report_runs(flags: &ReportFlags) -> anyhow::Result<ExitCode> {
    let html = flags.html.as_deref();
    let inputs = flags.runs.iter().chain(&flags.stream);
    let inputs: Vec<&Path> = inputs.map(PathBuf::as_path).collect();
    file::probe_all(&[("--html", html)], &inputs)?;
    let runs = flags.runs.iter().map(|path| Run::read(path));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let streams = flags
        .stream
        .as_deref()
        .map(|path| saved::read(path, Kind::Stream));
    let streams: Option<Streams> = streams.transpose()?;
    let shown = if flags.csv {
        report::compare::csv(&runs)
    } else {
        report::compare::table(&runs)
    };
    let page = |path| (path, report::html::page(&runs, streams.as_ref()));
    show(&shown, html.map(page))?;
    Ok(ExitCode::SUCCESS)
}

/// Why devices that share a box are not explained.
const SEVERAL_DEVICES: &str = "a run on several devices cannot be explained by the memory of one; explain a run on one of them";

/// Explains a saved run, or one that is measured now.
fn explain(flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    let json = flags.json.as_deref();
    let inputs = flags.run.iter().chain(&flags.stream).chain(&flags.net);
    let inputs: Vec<&Path> = inputs.map(PathBuf::as_path).collect();
    if speaks() {
        file::probe_all(&[("--json", json)], &inputs)?;
    }
    flags.check()?;
    let known = Known::read(flags)?;
    if let Some(path) = &flags.run {
        explain_run(&Run::read(path)?, flags, &known)?;
        return Ok(ExitCode::SUCCESS);
    }
    let hpcg = flags.hpcg();
    anyhow::ensure!(hpcg.devices().here() == 1, SEVERAL_DEVICES);
    let stop = stop_on_interrupt()?;
    let explained = rate(&hpcg, &stop, |ended| match ended.first {
        true => explain_run(&Run::of(ended.results), flags, &known),
        false => Ok(()),
    })?;
    Ok(match explained {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::from(COULD_NOT_RUN),
    })
}

/// What was measured before: read before a run begins.
struct Known {
    streams: Option<Streams>,
    net: Option<Net>,
}

impl Known {
    fn read(flags: &ExplainFlags) -> anyhow::Result<Self> {
        let (streams, net) = (flags.stream.as_deref(), flags.net.as_deref());
        Ok(Self {
            streams: streams
                .map(|path| saved::read(path, Kind::Stream))
                .transpose()?,
            net: net.map(|path| saved::read(path, Kind::Net)).transpose()?,
        })
    }
}

fn explain_run(run: &Run, flags: &ExplainFlags, known: &Known) -> anyhow::Result<()> {
    let results = &run.results;
    anyhow::ensure!(!results.hybrid, SEVERAL_DEVICES);
    let kind = results.device.kind;
    let rates = match (flags.bandwidth, &known.streams) {
        (Some(gbytes), _) => Rates::uniform(1e9 * gbytes),
        (None, Some(streams)) => Rates::new(streams, kind)?,
        (None, None) if results.ranks > 1 => match results.bandwidth {
            Some(bandwidth) => Rates::uniform(bandwidth),
            None => anyhow::bail!(
                "the memory of several ranks cannot be measured by one; give --bandwidth, the GB/s of all of them together"
            ),
        },
        (None, None) => Rates::new(&memory_now(run)?, kind)?,
    };
    let network = match &known.net {
        Some(net) => Some(Network::measured(net, run.transport())?),
        None => flags.network(),
    };
    let local = results
        .local
        .map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let scaling = network.map(|network| flags.scaling(local, network));
    let scaled = match &scaling {
        Some(scaling) => cubie::explain::scale(run, &rates, scaling)?,
        None => Vec::new(),
    };
    let explanation = Explanation::new(run, &rates);
    let mut shown = report::explain::text(&explanation);
    let network = scaling.as_ref().map(|scaling| &scaling.network);
    if let Some(network) = network {
        shown += &report::explain::scaled_text(&scaled, network);
    }
    let json = flags.json.as_deref();
    show(
        &shown,
        json.map(|path| (path, report::explain::json(&explanation, &scaled, network))),
    )
}

/// Prints `shown`, and writes files; where one of them is the standard output, `shown` goes to the
/// standard error.
fn show<'a>(
    shown: &str,
    files: impl IntoIterator<Item = (&'a Path, String)>,
) -> anyhow::Result<()> {
    let (streams, files): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|(path, _)| file::is_stdout(path));
    // Whatever fails, the rest is not lost.
    let mut outcome = Ok(());
    for (path, contents) in files {
        outcome = outcome.and(file::write(path, &contents).map_err(Into::into));
    }
    if streams.is_empty() {
        outcome = outcome.and(print(shown));
    } else {
        eprint!("{shown}");
    }
    for (_, contents) in streams {
        outcome = outcome.and(print(&contents));
    }
    outcome
}

/// Prints to the standard output; a reader that has seen enough is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            Err(why).context("cannot write to the standard output")
        }
        _ => Ok(()),
    }
}
