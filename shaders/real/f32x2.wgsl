// A real number is the unevaluated sum of two singles, x = hi (leading), y = lo: 48 bits.
//
// Error-free sums and products live from roundings that algebra calls zero, and compilers may
// do algebra: some fold a + b - a to b. So every intermediate passes through `guard`, which no
// compiler can see through, because it depends on a word read from memory at run time. The twin
// of these functions in Rust is src/gpu/f32x2.rs.
alias real = vec2<f32>;

const ZERO: real = vec2<f32>(0.0, 0.0);

// Holds 0, which the compiler does not know.
@group(1) @binding(0) var<uniform> zero_word: u32;

fn guard(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ zero_word); }

// a + b = s + e exactly (Knuth).
fn two_sum(a: f32, b: f32) -> real {
    let s = guard(a + b);
    let bb = guard(s - a);
    let e = guard(guard(a - guard(s - bb)) + guard(b - bb));
    return vec2<f32>(s, e);
}

// a + b = s + e exactly, for |a| >= |b| (Dekker).
fn fast_two_sum(a: f32, b: f32) -> real {
    let s = guard(a + b);
    let e = guard(b - guard(s - a));
    return vec2<f32>(s, e);
}

// The leading 12 bits of a, and the 12 that are left: products of such halves are exact.
fn split(a: f32) -> vec2<f32> {
    let hi = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    return vec2<f32>(hi, guard(a - hi));
}

// a b = p + e exactly (Dekker, Veltkamp); without fma, which not every device fuses.
fn two_prod(a: f32, b: f32) -> real {
    let p = guard(a * b);
    let a2 = split(a);
    let b2 = split(b);
    let e1 = guard(guard(a2.x * b2.x) - p);
    let e2 = guard(e1 + guard(a2.x * b2.y));
    let e3 = guard(e2 + guard(a2.y * b2.x));
    return vec2<f32>(p, guard(e3 + guard(a2.y * b2.y)));
}

fn from_f32(x: f32) -> real { return vec2<f32>(x, 0.0); }
fn to_f32(x: real) -> f32 { return x.x; }
fn is_zero(x: real) -> bool { return x.x == 0.0; }
fn neg(a: real) -> real { return -a; }

// Relative error at most 3 · 2^-48.
fn add(a: real, b: real) -> real {
    let s = two_sum(a.x, b.x);
    let t = two_sum(a.y, b.y);
    let v = fast_two_sum(s.x, guard(s.y + t.x));
    return fast_two_sum(v.x, guard(t.y + v.y));
}

fn sub(a: real, b: real) -> real { return add(a, neg(b)); }

// Relative error at most 2^-45.
fn mul(a: real, b: real) -> real {
    let p = two_prod(a.x, b.x);
    let cross = guard(guard(a.x * b.y) + guard(a.y * b.x));
    return fast_two_sum(p.x, guard(p.y + cross));
}

// a b + c, the errors of mul and add.
fn madd(a: real, b: real, c: real) -> real { return add(mul(a, b), c); }

// Two digits of a long division: WGSL's a / b may be off by 2.5 units in the last place, and
// the second digit mends that. Relative error at most 2^-44.
fn div(a: real, b: real) -> real {
    let q = guard(a.x / b.x);
    let rest = sub(a, mul(b, from_f32(q)));
    return fast_two_sum(q, guard(rest.x / b.x));
}
