//! How a long run tells that it is alive.

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
