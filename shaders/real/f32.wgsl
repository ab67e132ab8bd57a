// A real number is an IEEE single.
alias real = f32;

const ZERO: real = 0.0;

fn from_f32(x: f32) -> real { return x; }
fn to_f32(x: real) -> f32 { return x; }
fn is_zero(x: real) -> bool { return x == 0.0; }
fn neg(a: real) -> real { return -a; }
fn add(a: real, b: real) -> real { return a + b; }
fn sub(a: real, b: real) -> real { return a - b; }
fn mul(a: real, b: real) -> real { return a * b; }
fn div(a: real, b: real) -> real { return a / b; }
// a b + c
fn madd(a: real, b: real, c: real) -> real { return a * b + c; }
