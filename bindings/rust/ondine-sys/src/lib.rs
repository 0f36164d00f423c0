//! The C interface of Ondine, as it is. Made by tools/dev/c_declarations.py from <ondine/c.h>.
//! `docs/c.md` of the project explains it; the crate `ondine` has it as safe Rust.
#![allow(non_camel_case_types)]
#![cfg_attr(rustfmt, rustfmt_skip)]

use std::os::raw::{c_char, c_int, c_void};

pub const ONDINE_ABI_VERSION: c_int = 2;

pub const ONDINE_OK: c_int = 0;
pub const ONDINE_INVALID_MODEL: c_int = 1;
pub const ONDINE_UNSUPPORTED: c_int = 2;
pub const ONDINE_MISMATCH: c_int = 3;
pub const ONDINE_CORRUPT: c_int = 4;
pub const ONDINE_IO: c_int = 5;
pub const ONDINE_LIMIT: c_int = 6;
pub const ONDINE_CANCELLED: c_int = 7;
pub const ONDINE_INTERNAL: c_int = 8;
pub const ONDINE_NOT_FINITE: c_int = 9;
pub const ONDINE_NOT_FOUND: c_int = 10;
pub const ONDINE_EXISTS: c_int = 11;
pub const ONDINE_INVALID_OPTION: c_int = 12;

pub const ONDINE_FLOAT32: c_int = 1;
pub const ONDINE_UINT8: c_int = 2;
pub const ONDINE_INT8: c_int = 3;
pub const ONDINE_UINT16: c_int = 4;
pub const ONDINE_INT16: c_int = 5;
pub const ONDINE_INT32: c_int = 6;
pub const ONDINE_INT64: c_int = 7;
pub const ONDINE_STRING: c_int = 8;
pub const ONDINE_BOOL: c_int = 9;
pub const ONDINE_FLOAT16: c_int = 10;
pub const ONDINE_FLOAT64: c_int = 11;
pub const ONDINE_UINT32: c_int = 12;
pub const ONDINE_UINT64: c_int = 13;
pub const ONDINE_COMPLEX64: c_int = 14;
pub const ONDINE_COMPLEX128: c_int = 15;
pub const ONDINE_BFLOAT16: c_int = 16;
pub const ONDINE_FLOAT8E4M3FN: c_int = 17;
pub const ONDINE_FLOAT8E4M3FNUZ: c_int = 18;
pub const ONDINE_FLOAT8E5M2: c_int = 19;
pub const ONDINE_FLOAT8E5M2FNUZ: c_int = 20;
pub const ONDINE_UINT4: c_int = 21;
pub const ONDINE_INT4: c_int = 22;
pub const ONDINE_FLOAT4E2M1: c_int = 23;
pub const ONDINE_FLOAT8E8M0: c_int = 24;
pub const ONDINE_UINT2: c_int = 25;
pub const ONDINE_INT2: c_int = 26;

pub const ONDINE_NONE: c_int = 0;
pub const ONDINE_TENSOR: c_int = 1;
pub const ONDINE_SPARSE_TENSOR: c_int = 2;
pub const ONDINE_SEQUENCE: c_int = 3;
pub const ONDINE_MAP: c_int = 4;
pub const ONDINE_OPTIONAL: c_int = 5;

pub const ONDINE_FOR_TRAINING: c_int = 0;
pub const ONDINE_FOR_EVALUATION: c_int = 1;
pub const ONDINE_FOR_INFERENCE: c_int = 2;

#[repr(C)]
pub struct ondine_error {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ondine_value {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ondine_values {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ondine_model {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ondine_dataset {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ondine_batches {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ondine_trainer {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ondine_federated_worker {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ondine_generator {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ondine_cancel {
    _private: [u8; 0],
}

#[repr(C)]
pub struct DLManagedTensor {
    _private: [u8; 0],
}

pub type ondine_piece_callback = Option<unsafe extern "C" fn(user: *mut c_void, piece: *const c_char, length: usize) -> c_int>;
pub type ondine_external_data_callback = Option<unsafe extern "C" fn(user: *mut c_void, location: *const c_char, offset: u64, length: u64, bytes: *mut c_void) -> c_int>;
pub type ondine_progress_callback = Option<unsafe extern "C" fn(user: *mut c_void, fraction: f64) -> c_int>;
pub type ondine_text_callback = Option<unsafe extern "C" fn(user: *mut c_void, text: *const c_char)>;
pub type ondine_row_callback = Option<unsafe extern "C" fn(user: *mut c_void, row: u64, entries: *const *mut c_void) -> c_int>;
pub type ondine_report_callback = Option<unsafe extern "C" fn(user: *mut c_void, report: *const c_char) -> c_int>;
pub type ondine_wait_callback = Option<unsafe extern "C" fn(user: *mut c_void) -> c_int>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ondine_option {
    pub name: *const c_char,
    pub value: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ondine_message {
    pub role: *const c_char,
    pub content: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ondine_adapter_folder {
    pub folder: *const c_char,
    pub weight: f64,
    pub name: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ondine_private_steps {
    pub noise: f64,
    pub rate: f64,
    pub steps: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ondine_column {
    pub name: *const c_char,
    pub dtype: c_int,
    pub rank: usize,
    pub dims: *const i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ondine_metric {
    pub name: *const c_char,
    pub begin: Option<unsafe extern "C" fn(user: *mut c_void)>,
    pub add: Option<unsafe extern "C" fn(user: *mut c_void, outputs: *const ondine_values, batch: *const ondine_values) -> c_int>,
    pub value: Option<unsafe extern "C" fn(user: *mut c_void, value: *mut f64) -> c_int>,
    pub outputs: *const *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ondine_finetune_run {
    pub file: *const c_char,
    pub bytes: *const c_void,
    pub size: usize,
    pub model: *const ondine_model,
    pub places: *const *const c_char,
    pub dataset: *const ondine_dataset,
    pub validation_places: *const *const c_char,
    pub validation: *const ondine_dataset,
    pub output: *const c_char,
    pub options: *const ondine_option,
    pub data_options: *const ondine_option,
    pub load: *const ondine_option,
    pub on_assumed: ondine_text_callback,
    pub on_step: ondine_report_callback,
    pub on_epoch: ondine_report_callback,
    pub user: *mut c_void,
}

extern "C" {
    pub fn ondine_version() -> *const c_char;
    pub fn ondine_abi_version() -> c_int;
    pub fn ondine_free(memory: *mut c_void);
    pub fn ondine_live_handles() -> usize;
    pub fn ondine_options_json(json: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_error_code(error: *const ondine_error) -> c_int;
    pub fn ondine_code_name(code: c_int) -> *const c_char;
    pub fn ondine_error_message(error: *const ondine_error) -> *const c_char;
    pub fn ondine_error_reason(error: *const ondine_error) -> *const c_char;
    pub fn ondine_error_context(error: *const ondine_error, index: usize) -> *const c_char;
    pub fn ondine_error_free(error: *mut ondine_error);
    pub fn ondine_tensor_new(dtype: c_int, rank: usize, dims: *const i64, data: *const c_void, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_tensor_wrap(dtype: c_int, rank: usize, dims: *const i64, data: *mut c_void, release: Option<unsafe extern "C" fn(user: *mut c_void)>, user: *mut c_void, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_tensor_strings(rank: usize, dims: *const i64, texts: *const *const c_char, lengths: *const usize, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_tensor_from_dlpack(tensor: *mut DLManagedTensor, copy: c_int, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_tensor_to_dlpack(value: *const ondine_value, tensor: *mut *mut DLManagedTensor) -> *mut ondine_error;
    pub fn ondine_tensor_info(value: *const ondine_value, dtype: *mut c_int, rank: *mut usize, dims: *mut *const i64, elements: *mut usize, bytes: *mut usize) -> *mut ondine_error;
    pub fn ondine_tensor_data(value: *const ondine_value, data: *mut *mut c_void) -> *mut ondine_error;
    pub fn ondine_tensor_string(value: *const ondine_value, index: usize, text: *mut *const c_char, length: *mut usize) -> *mut ondine_error;
    pub fn ondine_value_sequence(elements: *const *const ondine_value, count: usize, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_value_map(keys: *const ondine_value, elements: *const *const ondine_value, count: usize, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_value_optional(element: *const ondine_value, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_value_sparse(elements: *const ondine_value, indices: *const ondine_value, rank: usize, dims: *const i64, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_value_kind(value: *const ondine_value, kind: *mut c_int) -> *mut ondine_error;
    pub fn ondine_value_count(value: *const ondine_value, count: *mut usize) -> *mut ondine_error;
    pub fn ondine_value_element(value: *const ondine_value, index: usize, element: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_value_keys(value: *const ondine_value, keys: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_value_free(value: *mut ondine_value);
    pub fn ondine_values_new(values: *mut *mut ondine_values) -> *mut ondine_error;
    pub fn ondine_values_set(values: *mut ondine_values, name: *const c_char, value: *const ondine_value) -> *mut ondine_error;
    pub fn ondine_values_set_tensor(values: *mut ondine_values, name: *const c_char, dtype: c_int, rank: usize, dims: *const i64, data: *const c_void) -> *mut ondine_error;
    pub fn ondine_values_count(values: *const ondine_values, count: *mut usize) -> *mut ondine_error;
    pub fn ondine_values_name(values: *const ondine_values, index: usize, name: *mut *const c_char) -> *mut ondine_error;
    pub fn ondine_values_at(values: *const ondine_values, index: usize, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_values_get(values: *const ondine_values, name: *const c_char, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_values_scalar(values: *const ondine_values, name: *const c_char, number: *mut f64) -> *mut ondine_error;
    pub fn ondine_values_free(values: *mut ondine_values);
    pub fn ondine_cancel_new(cancel: *mut *mut ondine_cancel) -> *mut ondine_error;
    pub fn ondine_cancel_request(cancel: *mut ondine_cancel) -> *mut ondine_error;
    pub fn ondine_cancel_reset(cancel: *mut ondine_cancel) -> *mut ondine_error;
    pub fn ondine_cancel_free(cancel: *mut ondine_cancel);
    pub fn ondine_import_hugging_face(folder: *const c_char, output: *const c_char, options: *const ondine_option, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_generator_new(model: *const ondine_model, options: *const ondine_option, text: *const ondine_option, generator: *mut *mut ondine_generator) -> *mut ondine_error;
    pub fn ondine_generator_generate(generator: *const ondine_generator, prompt: *const c_char, length: usize, callback: ondine_piece_callback, user: *mut c_void, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_generator_generate_after(generator: *const ondine_generator, tokens: *const i64, count: usize, callback: ondine_piece_callback, user: *mut c_void, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_generator_answer(generator: *const ondine_generator, messages: *const ondine_message, count: usize, callback: ondine_piece_callback, user: *mut c_void, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_generator_encode(generator: *const ondine_generator, text: *const c_char, length: usize, tokens: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_generator_decode(generator: *const ondine_generator, tokens: *const i64, count: usize, text: *mut *mut c_char, length: *mut usize) -> *mut ondine_error;
    pub fn ondine_generator_free(generator: *mut ondine_generator);
    pub fn ondine_model_adapters(model: *const ondine_model, json: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_model_save_adapters(model: *const ondine_model, folder: *const c_char) -> *mut ondine_error;
    pub fn ondine_model_load_adapters(model: *mut ondine_model, folder: *const c_char) -> *mut ondine_error;
    pub fn ondine_model_with_adapters(base: *const ondine_model, folders: *const ondine_adapter_folder, count: usize, load: *const ondine_option, model: *mut *mut ondine_model) -> *mut ondine_error;
    pub fn ondine_model_privacy(model: *const ondine_model, is_private: *mut c_int, clip: *mut f64, noise: *mut f64, batch_size: *mut u64) -> *mut ondine_error;
    pub fn ondine_privacy_epsilon(spent: *const ondine_private_steps, count: usize, delta: f64, epsilon: *mut f64) -> *mut ondine_error;
    pub fn ondine_privacy_noise(epsilon: f64, delta: f64, rate: f64, steps: u64, noise: *mut f64) -> *mut ondine_error;
    pub fn ondine_model_load(file: *const c_char, options: *const ondine_option, model: *mut *mut ondine_model) -> *mut ondine_error;
    pub fn ondine_model_load_bytes(bytes: *const c_void, size: usize, external: ondine_external_data_callback, user: *mut c_void, options: *const ondine_option, model: *mut *mut ondine_model) -> *mut ondine_error;
    pub fn ondine_prepare(file: *const c_char, options: *const ondine_option, load: *const ondine_option, model: *mut *mut ondine_model, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_prepare_bytes(bytes: *const c_void, size: usize, options: *const ondine_option, load: *const ondine_option, model: *mut *mut ondine_model, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_prepare_model(source: *const ondine_model, options: *const ondine_option, load: *const ondine_option, model: *mut *mut ondine_model, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_import_ort(folder: *const c_char, checkpoint: *const c_char, labels: *const *const c_char, load: *const ondine_option, model: *mut *mut ondine_model, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_model_clone(model: *const ondine_model, clone: *mut *mut ondine_model) -> *mut ondine_error;
    pub fn ondine_check(file: *const c_char, options: *const ondine_option, json: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_model_free(model: *mut ondine_model);
    pub fn ondine_model_describe(model: *const ondine_model, json: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_model_fingerprint(model: *const ondine_model, text: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_model_steps(model: *const ondine_model, steps: *mut u64) -> *mut ondine_error;
    pub fn ondine_model_inspect(model: *const ondine_model, stage: *const c_char, algorithm: usize, text: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_model_plan(model: *const ondine_model, feeds: *const ondine_values, algorithm: i64, fetches: *const *const c_char, json: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_model_initialize(model: *mut ondine_model, seed: u64) -> *mut ondine_error;
    pub fn ondine_model_train_step(model: *mut ondine_model, feeds: *const ondine_values, algorithm: usize, fetches: *const *const c_char, results: *mut *mut ondine_values) -> *mut ondine_error;
    pub fn ondine_model_eval_step(model: *const ondine_model, feeds: *const ondine_values, algorithm: usize, fetches: *const *const c_char, results: *mut *mut ondine_values) -> *mut ondine_error;
    pub fn ondine_model_infer(model: *const ondine_model, feeds: *const ondine_values, fetches: *const *const c_char, results: *mut *mut ondine_values) -> *mut ondine_error;
    pub fn ondine_model_gradients(model: *const ondine_model, feeds: *const ondine_values, algorithm: usize, gradients: *mut *mut ondine_values) -> *mut ondine_error;
    pub fn ondine_model_get_learning_rate(model: *const ondine_model, algorithm: usize, rate: *mut f32) -> *mut ondine_error;
    pub fn ondine_model_set_learning_rate(model: *mut ondine_model, algorithm: usize, rate: f32) -> *mut ondine_error;
    pub fn ondine_model_get_state(model: *const ondine_model, name: *const c_char, value: *mut *mut ondine_value) -> *mut ondine_error;
    pub fn ondine_model_set_state(model: *mut ondine_model, values: *const ondine_values) -> *mut ondine_error;
    pub fn ondine_model_parameter_count(model: *const ondine_model, count: *mut usize) -> *mut ondine_error;
    pub fn ondine_model_get_parameters(model: *const ondine_model, numbers: *mut f32, count: usize) -> *mut ondine_error;
    pub fn ondine_model_set_parameters(model: *mut ondine_model, numbers: *const f32, count: usize) -> *mut ondine_error;
    pub fn ondine_model_take_averages(model: *mut ondine_model) -> *mut ondine_error;
    pub fn ondine_model_save_checkpoint(model: *const ondine_model, file: *const c_char) -> *mut ondine_error;
    pub fn ondine_model_restore_checkpoint(model: *mut ondine_model, file: *const c_char, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_has_checkpoint(file: *const c_char, found: *mut c_int) -> *mut ondine_error;
    pub fn ondine_model_export_inference(model: *const ondine_model, file: *const c_char, options: *const ondine_option) -> *mut ondine_error;
    pub fn ondine_model_export_training(model: *const ondine_model, file: *const c_char, options: *const ondine_option) -> *mut ondine_error;
    pub fn ondine_model_export_inference_bytes(model: *const ondine_model, bytes: *mut *mut c_void, size: *mut usize) -> *mut ondine_error;
    pub fn ondine_model_export_training_bytes(model: *const ondine_model, bytes: *mut *mut c_void, size: *mut usize) -> *mut ondine_error;
    pub fn ondine_model_save_weights(model: *const ondine_model, file: *const c_char, all: c_int) -> *mut ondine_error;
    pub fn ondine_model_load_weights(model: *mut ondine_model, file: *const c_char, all: c_int, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_model_set_threads(model: *mut ondine_model, threads: c_int) -> *mut ondine_error;
    pub fn ondine_model_set_deadline(model: *mut ondine_model, milliseconds: i64) -> *mut ondine_error;
    pub fn ondine_model_set_cancel(model: *mut ondine_model, cancel: *const ondine_cancel) -> *mut ondine_error;
    pub fn ondine_model_set_progress(model: *mut ondine_model, callback: ondine_progress_callback, user: *mut c_void) -> *mut ondine_error;
    pub fn ondine_model_set_warning_callback(model: *mut ondine_model, callback: ondine_text_callback, user: *mut c_void) -> *mut ondine_error;
    pub fn ondine_model_set_profiling(model: *mut ondine_model, on: c_int) -> *mut ondine_error;
    pub fn ondine_model_profile(model: *const ondine_model, json: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_dataset_open(places: *const *const c_char, model: *const ondine_model, purpose: c_int, options: *const ondine_option, dataset: *mut *mut ondine_dataset) -> *mut ondine_error;
    pub fn ondine_dataset_from_values(training: *const ondine_values, validation: *const ondine_values, options: *const ondine_option, dataset: *mut *mut ondine_dataset) -> *mut ondine_error;
    pub fn ondine_dataset_from_rows(columns: *const ondine_column, count: usize, rows: u64, read: ondine_row_callback, release: Option<unsafe extern "C" fn(user: *mut c_void)>, user: *mut c_void, options: *const ondine_option, dataset: *mut *mut ondine_dataset) -> *mut ondine_error;
    pub fn ondine_dataset_describe(dataset: *const ondine_dataset, json: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_dataset_rows(dataset: *const ondine_dataset, rows: *mut u64) -> *mut ondine_error;
    pub fn ondine_dataset_training(dataset: *const ondine_dataset, part: *mut *mut ondine_dataset) -> *mut ondine_error;
    pub fn ondine_dataset_validation(dataset: *const ondine_dataset, part: *mut *mut ondine_dataset) -> *mut ondine_error;
    pub fn ondine_dataset_split(dataset: *const ondine_dataset, fraction: f64, seed: u64, first: *mut *mut ondine_dataset, second: *mut *mut ondine_dataset) -> *mut ondine_error;
    pub fn ondine_dataset_free(dataset: *mut ondine_dataset);
    pub fn ondine_batches_new(dataset: *const ondine_dataset, size: u64, seed: u64, epoch: u64, shuffle: c_int, model: *const ondine_model, algorithm: i64, batches: *mut *mut ondine_batches) -> *mut ondine_error;
    pub fn ondine_batches_count(batches: *const ondine_batches, count: *mut u64) -> *mut ondine_error;
    pub fn ondine_batches_next(batches: *mut ondine_batches, batch: *mut *mut ondine_values) -> *mut ondine_error;
    pub fn ondine_batches_free(batches: *mut ondine_batches);
    pub fn ondine_trainer_new(model: *mut ondine_model, options: *const ondine_option, trainer: *mut *mut ondine_trainer) -> *mut ondine_error;
    pub fn ondine_trainer_on_step(trainer: *mut ondine_trainer, callback: ondine_report_callback, user: *mut c_void) -> *mut ondine_error;
    pub fn ondine_trainer_on_epoch(trainer: *mut ondine_trainer, callback: ondine_report_callback, user: *mut c_void) -> *mut ondine_error;
    pub fn ondine_trainer_add_metric(trainer: *mut ondine_trainer, metric: *const ondine_metric, user: *mut c_void) -> *mut ondine_error;
    pub fn ondine_trainer_resume(trainer: *mut ondine_trainer, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_trainer_fit(trainer: *mut ondine_trainer, training: *const ondine_dataset, validation: *const ondine_dataset, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_trainer_evaluate(trainer: *mut ondine_trainer, dataset: *const ondine_dataset, json: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_trainer_request_stop(trainer: *mut ondine_trainer) -> *mut ondine_error;
    pub fn ondine_trainer_free(trainer: *mut ondine_trainer);
    pub fn ondine_evaluate(model: *const ondine_model, dataset: *const ondine_dataset, options: *const ondine_option, json: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_finetune(run: *const ondine_finetune_run, model: *mut *mut ondine_model, report: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_new_network(kind: *const c_char, dataset: *const ondine_dataset, options: *const ondine_option, bytes: *mut *mut c_void, size: *mut usize, description: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_federated_worker_new(model: *const ondine_model, dataset: *const ondine_dataset, options: *const ondine_option, federation: *const ondine_option, worker: *mut *mut ondine_federated_worker) -> *mut ondine_error;
    pub fn ondine_federated_worker_on_wait(worker: *mut ondine_federated_worker, callback: ondine_wait_callback, user: *mut c_void) -> *mut ondine_error;
    pub fn ondine_federated_worker_answer(worker: *mut ondine_federated_worker, kind: *const c_char, arrays: *const ondine_values, settings: *const c_char, seconds: f64, trained: *mut *mut ondine_values, answer: *mut *mut c_char) -> *mut ondine_error;
    pub fn ondine_federated_worker_free(worker: *mut ondine_federated_worker);
}
