// result = numerator / denominator, three scalars: CG's alpha and beta without asking the host.
// 0 if the denominator is 0.

struct Params {
    numerator: u32,
    denominator: u32,
    result: u32,
}

@group(0) @binding(0) var<storage, read_write> scalars: array<real>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(1)
fn main() {
    let denominator = scalars[params.denominator];
    if (is_zero(denominator)) {
        scalars[params.result] = ZERO;
    } else {
        scalars[params.result] = div(scalars[params.numerator], denominator);
    }
}
