// A real number is an IEEE double.
alias real = f64;

const ZERO: real = 0.0lf;

fn from_f32(x: f32) -> real { return f64(x); }
fn to_f32(x: real) -> f32 { return f32(x); }
fn is_zero(x: real) -> bool { return x == ZERO; }
fn neg(a: real) -> real { return -a; }
fn add(a: real, b: real) -> real { return a + b; }
fn sub(a: real, b: real) -> real { return a - b; }
fn mul(a: real, b: real) -> real { return a * b; }
fn div(a: real, b: real) -> real { return a / b; }
// a b + c
fn madd(a: real, b: real, c: real) -> real { return a * b + c; }
