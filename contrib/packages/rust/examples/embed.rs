//! T1: maps points of the plane to the unit sphere and back; the same as examples/01_embed.c.
use capball_sys::*;
use std::ffi::CStr;

const D: usize = 2;

fn main() {
    let x = [0.0, 0.0, 3.0, 4.0, -30.0, 40.0, 3e9, 4e9];
    let n = x.len() / D;
    let (mut y, mut back) = (vec![0.0; n * (D + 1)], vec![0.0; n * D]);
    let s = 5.0; // points of this norm land on the equator
    unsafe {
        let mut error: cpb_error = std::mem::zeroed();
        assert_eq!(cpb_embed(rows(&x, D), rows_out(&mut y, D + 1), s, &mut error), CPB_OK);
        assert_eq!(cpb_unembed(rows(&y, D + 1), rows_out(&mut back, D), s, &mut error), CPB_OK);
        assert_eq!(cpb_embed(rows(&x, D), rows_out(&mut y, D + 1), -1.0, &mut error), CPB_EINVAL);
        println!("capball {}: {}", CStr::from_ptr(cpb_version()).to_string_lossy(), CStr::from_ptr(error.text.as_ptr()).to_string_lossy());
    }
    for i in 0..n {
        let (a, b) = (&x[i * D..(i + 1) * D], &back[i * D..(i + 1) * D]);
        let on = &y[i * (D + 1)..(i + 1) * (D + 1)];
        assert!((on.iter().map(|v| v * v).sum::<f64>().sqrt() - 1.0).abs() <= 1e-15);
        assert!((a[0] - b[0]).hypot(a[1] - b[1]) <= 16.0 * f64::EPSILON / 2.0 * a[0].hypot(a[1]));
        println!("({}, {}) -> ({:.6}, {:.6}, {:.6})", a[0], a[1], on[0], on[1], on[2]);
    }
}
