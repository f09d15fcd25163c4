//! Declarations of libcapball, as in `include/capball/`: the contracts are there.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_void};

/// 0 is ok; the numbers are fixed (`status.h`).
pub type cpb_status = c_int;
pub const CPB_OK: cpb_status = 0;
pub const CPB_EINVAL: cpb_status = 1;

pub type cpb_dtype = c_int;
pub const CPB_F32: cpb_dtype = 0;
pub const CPB_F64: cpb_dtype = 1;

/// What went wrong; its layout never changes.
#[repr(C)]
pub struct cpb_error {
    pub status: cpb_status,
    pub reason: c_int,
    pub row: i64,
    pub about: i32,
    pub argument: [c_char; 60],
    pub text: [c_char; 512],
}

/// Rows to read, borrowed for the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cpb_view {
    pub data: *const c_void,
    pub dtype: cpb_dtype,
    pub rows: usize,
    pub cols: usize,
    pub stride: usize,
}

/// Rows to write, in memory of the caller.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cpb_out {
    pub data: *mut c_void,
    pub dtype: cpb_dtype,
    pub rows: usize,
    pub cols: usize,
    pub stride: usize,
}

#[repr(C)]
pub struct cpb_map {
    _private: [u8; 0],
}

extern "C" {
    pub fn cpb_version() -> *const c_char;
    pub fn cpb_status_name(status: cpb_status) -> *const c_char;
    pub fn cpb_embed(x: cpb_view, y: cpb_out, s: f64, error: *mut cpb_error) -> cpb_status;
    pub fn cpb_unembed(y: cpb_view, x: cpb_out, s: f64, error: *mut cpb_error) -> cpb_status;
    pub fn cpb_map_load(path: *const c_char, map: *mut *mut cpb_map, error: *mut cpb_error) -> cpb_status;
    pub fn cpb_map_embed(map: *const cpb_map, x: cpb_view, y: cpb_out, exec: *const c_void, error: *mut cpb_error) -> cpb_status;
    pub fn cpb_map_free(map: *mut cpb_map);
}

/// Densely packed rows of doubles.
pub fn rows(data: &[f64], cols: usize) -> cpb_view {
    cpb_view { data: data.as_ptr().cast(), dtype: CPB_F64, rows: data.len() / cols, cols, stride: cols }
}

pub fn rows_out(data: &mut [f64], cols: usize) -> cpb_out {
    cpb_out { data: data.as_mut_ptr().cast(), dtype: CPB_F64, rows: data.len() / cols, cols, stride: cols }
}
