//! Listening for whoever wants a run to end: Ctrl-C, and the SIGTERM of `mpirun` and batch systems.

use std::io;

/// Calls `told` at each such signal, in a thread of its own.
///
/// # Errors
/// If the system does not allow to listen.
#[cfg(unix)]
pub fn listen(told: impl Fn() + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || signals.forever().for_each(|_| told()))?;
    Ok(())
}

/// Calls `told` at each Ctrl-C, in a thread of its own.
///
/// # Errors
/// If the system does not allow to listen.
#[cfg(not(unix))]
pub fn listen(told: impl Fn() + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(told).map_err(io::Error::other)
}
