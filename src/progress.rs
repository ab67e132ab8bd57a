//! How a long run tells that it is alive.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// What a run reports while it goes on.
pub trait Progress {
    /// A phase begins. `steps` of 0 means that nobody knows how many there will be.
    fn begin(&mut self, phase: &str, steps: u64);
    /// One step of the phase is done.
    fn step(&mut self);
    /// The phase is over.
    fn end(&mut self);
    /// Something the user should read now: what was chosen, what was replaced.
    fn note(&mut self, sentence: &str);
}

/// Tells nobody anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&mut self, _phase: &str, _steps: u64) {}
    fn step(&mut self) {}
    fn end(&mut self) {}
    fn note(&mut self, _sentence: &str) {}
}

/// What a rank reports: the one that speaks for all with bars and notes, the others nothing.
pub fn shown(speaks: bool) -> Box<dyn Progress> {
    match speaks {
        true => Box::new(Bars::new()),
        false => Box::new(Silent),
    }
}

/// Bars and notes on the standard error; notes alone if that is not a terminal.
#[derive(Debug)]
pub struct Bars {
    bar: Option<ProgressBar>,
    is_terminal: bool,
}

impl Bars {
    /// No bar yet.
    pub fn new() -> Self {
        Self {
            bar: None,
            is_terminal: io::stderr().is_terminal(),
        }
    }
}

impl Default for Bars {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for Bars {
    fn begin(&mut self, phase: &str, steps: u64) {
        if !self.is_terminal {
            return;
        }
        let (bar, form) = if steps == 0 {
            (ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}")
        } else {
            let form = "{spinner} {msg} {wide_bar} {pos}/{len}, {eta} left";
            (ProgressBar::new(steps), form)
        };
        let style = ProgressStyle::with_template(form).expect("the template is well-formed");
        bar.set_style(style);
        bar.set_message(phase.to_owned());
        // Slow enough not to disturb what is being measured.
        bar.enable_steady_tick(Duration::from_millis(500));
        self.bar = Some(bar);
    }

    fn step(&mut self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn note(&mut self, sentence: &str) {
        let print = || {
            // A closed standard error is no reason to stop.
            writeln!(io::stderr(), "note: {sentence}").unwrap_or_default();
        };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}
