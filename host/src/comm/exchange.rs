//! What every halo transport offers.

/// An exchange between neighbours that is made once and used often.
///
/// Every use is `outgoing`, `start`, `finish`, in this order and on all ranks; what `finish`
/// returned has been read before the next `start`.
pub trait Exchange {
    /// Room for the elements to send, neighbour by neighbour.
    fn outgoing(&mut self) -> &mut [u8];
    /// Sends them.
    fn start(&mut self);
    /// Waits for the neighbours' elements and returns them, neighbour by neighbour.
    fn finish(&mut self) -> &[u8];
}
