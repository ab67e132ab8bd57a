//! cubie
fn main() {}
