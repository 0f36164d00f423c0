use std::ffi::{c_void, CString};
use std::mem::transmute;
use std::ops::ControlFlow;
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;

use ondine_sys as sys;

use crate::callbacks::{self, Call, PieceCall, Registered};
use crate::error::check;
use crate::json::Json;
use crate::options::c_text;
use crate::texts::{c_path, json, take_bytes};
use crate::{Model, Options, Result, Value};

/// A message of a conversation. `role`: system, user or assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub role: &'a str,
    pub content: &'a str,
}

/// Writes texts by a language model, which it keeps. Threads may share it.
///
/// ```no_run
/// use std::ops::ControlFlow;
///
/// use ondine::{Generator, Model, Options};
///
/// # fn main() -> ondine::Result<()> {
/// let model = Model::load("tuned.onnx", &Options::new())?;
/// let options = Options::new().with("max-tokens", 50).with("temperature", 0);
/// let generator = Generator::new(&model, &options, &Options::new())?;
/// let report = generator.generate_with("Once upon", |piece| {
///     print!("{piece}");
///     ControlFlow::Continue(())
/// })?;
/// println!("\n{} tokens", report.get("tokens").list().len());
/// # Ok(())
/// # }
/// ```
pub struct Generator(*mut sys::ondine_generator);

// SAFETY: handles may be used from any thread, and what the functions read may be read at once.
unsafe impl Send for Generator {}
unsafe impl Sync for Generator {}

impl Drop for Generator {
    fn drop(&mut self) {
        unsafe { sys::ondine_generator_free(self.0) }
    }
}

impl Generator {
    /// `options`: group generate. `text`: the options tokenizer and chat-template of group data; what
    /// they do not say is as the model was trained.
    pub fn new(model: &Model, options: &Options, text: &Options) -> Result<Generator> {
        let (options, text) = (options.list()?, text.list()?);
        let mut made = ptr::null_mut();
        check(unsafe {
            sys::ondine_generator_new(model.handle, options.as_ptr(), text.as_ptr(), &mut made)
        })?;
        Ok(Generator(made))
    }

    /// The text after a prompt: the generate report.
    pub fn generate(&self, prompt: &str) -> Result<Json> {
        self.generate_with(prompt, |_| ControlFlow::Continue(()))
    }

    /// The same; `tell` gets each part of the text, and ends it by `Break`.
    pub fn generate_with(
        &self,
        prompt: &str,
        tell: impl FnMut(&str) -> ControlFlow<()> + Send,
    ) -> Result<Json> {
        let (bytes, count) = (prompt.as_ptr() as *const c_char, prompt.len());
        write(tell, |call, user, text| unsafe {
            sys::ondine_generator_generate(self.0, bytes, count, call, user, text)
        })
    }

    /// The text after a prompt of token ids.
    pub fn generate_after(&self, tokens: &[i64]) -> Result<Json> {
        self.generate_after_with(tokens, |_| ControlFlow::Continue(()))
    }

    pub fn generate_after_with(
        &self,
        tokens: &[i64],
        tell: impl FnMut(&str) -> ControlFlow<()> + Send,
    ) -> Result<Json> {
        let (ids, count) = (tokens.as_ptr(), tokens.len());
        write(tell, |call, user, text| unsafe {
            sys::ondine_generator_generate_after(self.0, ids, count, call, user, text)
        })
    }

    /// The assistant's next message, by the chat template.
    pub fn answer(&self, messages: &[Message]) -> Result<Json> {
        self.answer_with(messages, |_| ControlFlow::Continue(()))
    }

    pub fn answer_with(
        &self,
        messages: &[Message],
        tell: impl FnMut(&str) -> ControlFlow<()> + Send,
    ) -> Result<Json> {
        let texts = messages
            .iter()
            .map(|one| Ok((c_text(one.role, "a role")?, c_text(one.content, "a message")?)))
            .collect::<Result<Vec<(CString, CString)>>>()?;
        let list: Vec<sys::ondine_message> = texts
            .iter()
            .map(|(role, content)| sys::ondine_message {
                role: role.as_ptr(),
                content: content.as_ptr(),
            })
            .collect();
        write(tell, |call, user, text| unsafe {
            sys::ondine_generator_answer(self.0, list.as_ptr(), list.len(), call, user, text)
        })
    }

    /// The ids of a text's tokens.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>> {
        let mut tokens = ptr::null_mut();
        check(unsafe {
            let bytes = text.as_ptr() as *const c_char;
            sys::ondine_generator_encode(self.0, bytes, text.len(), &mut tokens)
        })?;
        Ok(Value(tokens).as_slice::<i64>()?.to_vec())
    }

    /// The text of tokens; what is no UTF-8 becomes U+FFFD.
    pub fn decode(&self, tokens: &[i64]) -> Result<String> {
        let (mut text, mut length) = (ptr::null_mut(), 0);
        check(unsafe {
            let ids = tokens.as_ptr();
            sys::ondine_generator_decode(self.0, ids, tokens.len(), &mut text, &mut length)
        })?;
        let bytes = take_bytes(text as *mut c_void, length);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn write<'a>(
    tell: impl FnMut(&str) -> ControlFlow<()> + Send + 'a,
    call: impl FnOnce(
        sys::ondine_piece_callback,
        *mut c_void,
        *mut *mut c_char,
    ) -> *mut sys::ondine_error,
) -> Result<Json> {
    let tell: PieceCall<'a> = Box::new(tell);
    // SAFETY: the closure is gone before this function returns.
    let tell = unsafe { transmute::<PieceCall<'a>, PieceCall<'static>>(tell) };
    let made = Registered::new(Call::Piece(tell));
    json(|text| call(Some(callbacks::piece as _), made.user(), text))
}

/// Writes the model of a folder of Hugging Face as an .onnx file, which is replaced in one step: the
/// import report. `options`: group import.
pub fn import_hugging_face(
    folder: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &Options,
) -> Result<Json> {
    let (folder, output) = (c_path(folder.as_ref())?, c_path(output.as_ref())?);
    let list = options.list()?;
    json(|text| unsafe {
        sys::ondine_import_hugging_face(folder.as_ptr(), output.as_ptr(), list.as_ptr(), text)
    })
}
