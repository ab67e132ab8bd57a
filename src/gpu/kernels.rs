//! The kernels: their sources, put together for one arithmetic, and what they bind.

use super::Arithmetic;

/// Rows of a slice of the matrix (see `shaders/common.wgsl`).
pub(super) const SLICE: usize = 64;

/// A kernel, written in the shader of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// y = A x
    Spmv,
    /// One colour of a Gauss–Seidel sweep.
    Symgs,
    /// y = A x and partial sums of x·y, in the split format as all that follow with this name.
    SplitSpmv,
    /// One colour of a sweep over some of L and U, and partial sums of b·x if they are wanted.
    SplitRelax,
    /// One colour of the backward sweep after a forward sweep from x = 0.
    SplitBackward,
    /// One colour of the forward sweep after a coarse correction.
    SplitCorrect,
    /// rc = r − A x at the injected rows.
    SplitResidual,
    /// All colours of both sweeps from x = 0, on a small level.
    SplitSmallSmooth,
    /// All colours of both sweeps after a coarse correction, on a small level.
    SplitSmallCorrect,
    /// a_ii = diagonal_i
    ReplaceDiagonal,
    /// Partial sums of x·y.
    Dot,
    /// x·y out of the partial sums.
    DotSum,
    /// A quotient of two scalars.
    Ratio,
    /// w = alpha x + beta w
    Waxpby,
    /// x += alpha p, r −= alpha Ap, and partial sums of r·r.
    Update,
    /// rc = (r − Axf) at the injected rows.
    Restriction,
    /// x += xc at the injected rows.
    Prolongation,
    /// The elements of x that other ranks need.
    Pack,
    /// x = 0
    Zero,
    /// y = x
    Copy,
    /// y = x, to single.
    Narrow,
    /// y = x, from single.
    Widen,
    /// The arithmetic itself.
    SelfTest,
}

impl Kernel {
    /// All, in the order in which they are declared.
    pub const ALL: [Self; 23] = [
        Self::Spmv,
        Self::Symgs,
        Self::SplitSpmv,
        Self::SplitRelax,
        Self::SplitBackward,
        Self::SplitCorrect,
        Self::SplitResidual,
        Self::SplitSmallSmooth,
        Self::SplitSmallCorrect,
        Self::ReplaceDiagonal,
        Self::Dot,
        Self::DotSum,
        Self::Ratio,
        Self::Waxpby,
        Self::Update,
        Self::Restriction,
        Self::Prolongation,
        Self::Pack,
        Self::Zero,
        Self::Copy,
        Self::Narrow,
        Self::Widen,
        Self::SelfTest,
    ];

    /// The name of its shader.
    pub fn name(self) -> &'static str {
        self.parts().0
    }

    /// Which of its buffers it writes, in the order in which it binds them; parameters come last.
    pub(super) fn writes(self) -> &'static [bool] {
        self.parts().1
    }

    fn parts(self) -> (&'static str, &'static [bool], &'static str) {
        const R: bool = false;
        const W: bool = true;
        macro_rules! shader {
            ($name:literal, $writes:expr) => {
                (
                    $name,
                    &$writes,
                    include_str!(concat!("../../shaders/", $name, ".wgsl")),
                )
            };
        }
        match self {
            Self::Spmv => shader!("spmv", [R, R, R, W]),
            Self::Symgs => shader!("symgs", [R, R, R, R, W]),
            Self::SplitSpmv => shader!("split_spmv", [R, R, R, R, R, W, W]),
            Self::SplitRelax => shader!("split_relax", [R, R, R, R, R, W, R, W]),
            Self::SplitBackward => shader!("split_backward", [R, R, R, R, W, W]),
            Self::SplitCorrect => shader!("split_correct", [R, R, R, R, R, R, W, W]),
            Self::SplitResidual => shader!("split_residual", [R, R, R, R, R, R, R, W]),
            Self::SplitSmallSmooth => shader!("split_small_smooth", [R, R, R, R, R, W, W]),
            Self::SplitSmallCorrect => {
                shader!("split_small_correct", [R, R, R, R, R, R, W, W])
            }
            Self::ReplaceDiagonal => shader!("replace_diagonal", [W, R, R]),
            Self::Dot => shader!("dot", [R, R, W]),
            Self::DotSum => shader!("dot_sum", [R, W]),
            Self::Ratio => shader!("ratio", [W]),
            Self::Waxpby => shader!("waxpby", [R, R, W]),
            Self::Update => shader!("update", [R, R, R, W, W, W]),
            Self::Restriction => shader!("restriction", [R, R, R, W]),
            Self::Prolongation => shader!("prolongation", [R, R, W]),
            Self::Pack => shader!("pack", [R, R, W]),
            Self::Zero => shader!("zero", [W]),
            Self::Copy => shader!("copy", [R, W]),
            Self::Narrow => shader!("narrow", [R, W]),
            Self::Widen => shader!("widen", [R, W]),
            Self::SelfTest => shader!("self_test", [R, R, R, W]),
        }
    }

    /// The files that it shares with others of its kind, on a device with or without subgroups.
    fn shared(self, subgroups: bool) -> Vec<&'static str> {
        const SPLIT: &str = include_str!("../../shaders/split.wgsl");
        const CORRECTED: &str = include_str!("../../shaders/split_corrected.wgsl");
        const SMALL: &str = include_str!("../../shaders/split_small.wgsl");
        let reduce = if subgroups {
            include_str!("../../shaders/reduce_subgroups.wgsl")
        } else {
            include_str!("../../shaders/reduce.wgsl")
        };
        match self {
            Self::SplitSpmv | Self::SplitRelax => vec![SPLIT, reduce],
            Self::SplitBackward | Self::SplitResidual => vec![SPLIT],
            Self::SplitCorrect => vec![SPLIT, CORRECTED],
            Self::SplitSmallSmooth => vec![SPLIT, SMALL],
            Self::SplitSmallCorrect => vec![SPLIT, CORRECTED, SMALL],
            Self::Dot | Self::DotSum | Self::Update => vec![reduce],
            _ => vec![],
        }
    }

    /// Its WGSL in `arithmetic`, for a device whose subgroups have so many threads at least (1: it has
    /// none): the matrix format's constants, the arithmetic, what all kernels share, what some
    /// share, the kernel.
    pub fn source(self, arithmetic: Arithmetic, subgroup: u32) -> String {
        format!(
            "const WIDTH: u32 = {width}u;\nconst SLICE: u32 = {SLICE}u;\nconst SUBGROUP: u32 = {subgroup}u;\n\n{real}\n{common}\n{shared}\n{kernel}",
            width = cubie_host::WIDTH,
            real = arithmetic.source(),
            common = include_str!("../../shaders/common.wgsl"),
            shared = self.shared(subgroup > 1).join("\n"),
            kernel = self.parts().2,
        )
    }
}
