//! The file `hpcg.dat`: two ignored lines; `nx ny nz`; seconds; perhaps `npx npy npz`.
//! Words after the numbers of a line are ignored, one more number is refused (HPCG: `ReadHpcgDat`).

use super::InputError;

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dat {
    /// Points of the box.
    pub n: [usize; 3],
    /// Seconds to run.
    pub seconds: u64,
    /// Ranks in x, y and z, if given.
    pub np: Option<[usize; 3]>,
}

/// Reads the contents of the file.
///
/// # Errors
/// [`InputError::Dat`] with the line that is wrong.
pub fn parse(text: &str) -> Result<Dat, InputError> {
    let lines: Vec<&str> = text.lines().collect();
    let [nx, ny, nz] = numbers(&lines, 3, ["nx", "ny", "nz"])?;
    if let Some(zero) = [nx, ny, nz].iter().position(|&n| n == 0) {
        let side = ["nx", "ny", "nz"][zero];
        return Err(wrong(3, format!("{side} is 0")));
    }
    let [seconds] = numbers(&lines, 4, ["seconds"])?;
    let np = match lines.get(4).map(|line| line.trim()) {
        None | Some("") => None,
        Some(_) => match numbers(&lines, 5, ["npx", "npy", "npz"])? {
            [0, 0, 0] => None,
            np if np.contains(&0) => {
                return Err(wrong(5, "a grid of ranks cannot have a side of 0".into()));
            }
            np => Some(np.map(|n| n as usize)),
        },
    };
    Ok(Dat {
        n: [nx, ny, nz].map(|n| n as usize),
        seconds: seconds.into(),
        np,
    })
}

/// The numbers at the beginning of a line.
fn numbers<const N: usize>(
    lines: &[&str],
    line: usize,
    names: [&str; N],
) -> Result<[u32; N], InputError> {
    let text = lines.get(line - 1).ok_or_else(|| {
        let names = names.join(" ");
        wrong(line, format!("the file ends before '{names}'"))
    })?;
    let mut words = text.split_whitespace();
    let mut numbers = [0; N];
    for (number, name) in numbers.iter_mut().zip(names) {
        let word = words
            .next()
            .ok_or_else(|| wrong(line, format!("{name} is missing")))?;
        *number = word.parse().map_err(|_| {
            wrong(
                line,
                format!("{name} is '{word}', which is not a whole number that is 0 or more"),
            )
        })?;
    }
    match words.next() {
        Some(word) if word.parse::<f64>().is_ok() => Err(wrong(
            line,
            format!("'{word}' is one number more than '{}'", names.join(" ")),
        )),
        _ => Ok(numbers),
    }
}

fn wrong(line: usize, what: String) -> InputError {
    InputError::Dat { line, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "HPCG benchmark input file\nSandia and Tennessee\n";

    #[test]
    fn the_file_as_shipped_is_read() {
        let dat = parse(&format!("{HEAD}104 104 104\n60\n")).unwrap();
        assert_eq!(
            dat,
            Dat {
                n: [104; 3],
                seconds: 60,
                np: None
            }
        );
    }

    #[test]
    fn a_rank_grid_and_remarks_are_read() {
        let dat = parse(&format!("{HEAD}16 32\t64 box\r\n0 s\r\n2 2 1")).unwrap();
        assert_eq!(
            dat,
            Dat {
                n: [16, 32, 64],
                seconds: 0,
                np: Some([2, 2, 1])
            }
        );
    }

    #[test]
    fn a_malformed_file_is_refused_with_the_line() {
        let cases = [
            ("", 3),
            ("104 104\n60\n", 3),
            ("104 x 104\n60\n", 3),
            ("104 104 104 60\n60\n", 3),
            ("104 104 104\n60 0\n", 4),
            ("104 104 104\n60\n2 2 2 1\n", 5),
            ("104 -8 104\n60\n", 3),
            ("104 0 104\n60\n", 3),
            ("104 104 104\n", 4),
            ("104 104 104\n\n", 4),
            ("104 104 104\nlong\n", 4),
            ("104 104 104\n60\n2 2\n", 5),
            ("104 104 104\n60\n2 0 2\n", 5),
        ];
        for (text, expected) in cases {
            match parse(&format!("{HEAD}{text}")) {
                Err(InputError::Dat { line, .. }) => assert_eq!(line, expected, "{text:?}"),
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }
}
