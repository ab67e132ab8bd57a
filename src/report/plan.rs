//! A plan in the terminal.

use crate::number::{bytes, percent};
use crate::plan::{BandwidthIs, Plan};

/// The plan, and the command that carries it out.
pub fn text(plan: &Plan) -> String {
    let [npx, npy, npz] = plan.grid.np;
    let (nx, ny, nz) = (plan.grid.nx, plan.grid.ny, plan.grid.nz[0]);
    let ranks = plan.grid.size();
    let [gnx, gny, gnz] = plan.grid.gn();
    let data = if plan.need.device > 0 {
        plan.need.device
    } else {
        plan.need.host
    };
    let mut lines = vec![
        format!(
            "device      {} ({}), {}",
            plan.device.name, plan.device.backend, plan.precision
        ),
        format!("box         {nx} x {ny} x {nz} points a rank"),
        format!("ranks       {ranks} in a grid of {npx} x {npy} x {npz}"),
        format!(
            "problem     {gnx} x {gny} x {gnz}, {} rows, {} nonzeros",
            plan.rows, plan.nnz
        ),
    ];
    let free = plan.host_free.map_or(String::new(), |free| {
        format!("; {} are free here", bytes(free))
    });
    lines.push(format!(
        "host        {} a rank{free}",
        bytes(plan.need.host)
    ));
    if plan.need.device > 0 {
        lines.push(format!("device      {} a rank", bytes(plan.need.device)));
    }
    lines.push(format!(
        "fill        {} of {}",
        percent(data as f64 / plan.capacity as f64),
        bytes(plan.capacity)
    ));
    let source = match plan.bandwidth_is {
        BandwidthIs::Given => "as given with --bandwidth",
        BandwidthIs::Measured => "measured just now on this CPU",
        BandwidthIs::Assumed => "an assumption; say better with --bandwidth GBS",
    };
    lines.push(format!("bandwidth   {:.1} GB/s, {source}", plan.bandwidth));
    lines.push(format!(
        "rating      about {:.3} GFLOP/s, if every byte of the textbook algorithm moves at that speed",
        plan.gflops()
    ));
    lines.push(format!(
        "time        about {} for the reference phases and checks, then {} of timed sets",
        duration(plan.before),
        duration(plan.timed)
    ));
    if data * 4 < plan.capacity {
        lines.push(
            "note        an official run must fill a quarter: ask for a little more, such as --fill 0.3"
                .into(),
        );
    }
    let start = match ranks {
        1 => String::new(),
        _ => format!("mpirun -n {ranks} "),
    };
    lines.push(format!(
        "command     {start}cubie hpcg{} --nx {nx} --ny {ny} --nz {nz} --rt {:.0}",
        plan.device_flags, plan.timed
    ));
    lines.join("\n") + "\n"
}

fn duration(seconds: f64) -> String {
    if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}
