//! Reports of the library, which are JSON.
use std::collections::BTreeMap;
use std::fmt;

/// A report, or a part of one. `docs/c.md` of the project names the members; more may be added.
/// Numbers that are not finite are the texts "nan", "inf" and "-inf".
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

static NONE: Json = Json::Null;

impl Json {
    /// A member of an object; `Json::Null` where there is none.
    pub fn get(&self, member: &str) -> &Json {
        match self {
            Json::Object(members) => members.get(member).unwrap_or(&NONE),
            _ => &NONE,
        }
    }

    /// The elements of a list; none of anything else.
    pub fn list(&self) -> &[Json] {
        match self {
            Json::List(elements) => elements,
            _ => &[],
        }
    }

    /// A number, also one that is not finite.
    pub fn number(&self) -> Option<f64> {
        match self {
            Json::Number(number) => Some(*number),
            Json::Text(text) => match text.as_str() {
                "nan" => Some(f64::NAN),
                "inf" => Some(f64::INFINITY),
                "-inf" => Some(f64::NEG_INFINITY),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn bool(&self) -> Option<bool> {
        match self {
            Json::Bool(is) => Some(*is),
            _ => None,
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Json> {
        let mut reader = Reader { rest: text };
        let value = reader.value()?;
        reader.rest.trim_start().is_empty().then_some(value)
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<Json> {
        for (word, value) in
            [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
        {
            if self.eat(word) {
                return Some(value);
            }
        }
        match self.rest.chars().next()? {
            '{' => self.object(),
            '[' => self.elements(),
            '"' => self.string().map(Json::Text),
            _ => self.digits(),
        }
    }

    fn object(&mut self) -> Option<Json> {
        let mut members = BTreeMap::new();
        self.eat("{");
        while !self.eat("}") {
            if !members.is_empty() && !self.eat(",") {
                return None;
            }
            self.rest = self.rest.trim_start();
            let name = self.string()?;
            if !self.eat(":") {
                return None;
            }
            members.insert(name, self.value()?);
        }
        Some(Json::Object(members))
    }

    fn elements(&mut self) -> Option<Json> {
        let mut elements = Vec::new();
        self.eat("[");
        while !self.eat("]") {
            if !elements.is_empty() && !self.eat(",") {
                return None;
            }
            elements.push(self.value()?);
        }
        Some(Json::List(elements))
    }

    fn digits(&mut self) -> Option<Json> {
        let end =
            self.rest.find(|c: char| !"+-.eE0123456789".contains(c)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number.parse().ok().map(Json::Number)
    }

    fn string(&mut self) -> Option<String> {
        self.rest = self.rest.strip_prefix('"')?;
        let mut made = String::new();
        loop {
            let end = self.rest.find(['"', '\\'])?;
            made.push_str(&self.rest[..end]);
            let escaped = self.rest[end..].starts_with('\\');
            self.rest = &self.rest[end + 1..];
            if !escaped {
                return Some(made);
            }
            made.push(self.escaped()?);
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let letter = chars.next()?;
        self.rest = chars.as_str();
        Some(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let first = self.hex()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first);
                }
                self.rest = self.rest.strip_prefix("\\u")?;
                let second = self.hex()?.checked_sub(0xdc00)?;
                return char::from_u32(0x10000 + ((first - 0xd800) << 10) + second);
            }
            other => other,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4)?;
        self.rest = &self.rest[4..];
        u32::from_str_radix(digits, 16).ok()
    }
}

/// As JSON.
impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(is) => write!(out, "{is}"),
            Json::Number(number) => write!(out, "{number}"),
            Json::Text(text) => write_text(text, out),
            Json::List(elements) => {
                out.write_str("[")?;
                for (i, one) in elements.iter().enumerate() {
                    write!(out, "{}{one}", if i == 0 { "" } else { "," })?;
                }
                out.write_str("]")
            }
            Json::Object(members) => {
                out.write_str("{")?;
                for (i, (name, one)) in members.iter().enumerate() {
                    out.write_str(if i == 0 { "" } else { "," })?;
                    write_text(name, out)?;
                    write!(out, ":{one}")?;
                }
                out.write_str("}")
            }
        }
    }
}

fn write_text(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            c if (c as u32) < 0x20 => write!(out, "\\u{:04x}", c as u32)?,
            c => write!(out, "{c}")?,
        }
    }
    out.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn a_report_is_read_and_written() {
        let text =
            r#"{"a":[1,-2.5e3,"nan"],"b":{"c":null,"d":true},"e":"x\"\\\u00e9\ud83d\ude00\n"}"#;
        let json = Json::parse(text).unwrap();
        assert_eq!(json.get("a").list()[1].number(), Some(-2500.0));
        assert!(json.get("a").list()[2].number().unwrap().is_nan());
        assert_eq!(json.get("e").text(), Some("x\"\\é😀\n"));
        assert_eq!(json.get("b").get("d").bool(), Some(true));
        assert_eq!(json.get("nobody").get("c"), &Json::Null);
        assert_eq!(Json::parse(&json.to_string()), Some(json));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "[1 2]", "{\"a\" 1}", "\"", "\"\\ud800\"", "1 2", "nul", "\"\\u12\""]
        {
            assert_eq!(Json::parse(text), None, "{text}");
        }
    }
}
