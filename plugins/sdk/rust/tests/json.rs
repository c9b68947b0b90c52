//! JSON: texts, values, and types.

use std::collections::{BTreeMap, HashMap};

use taskrt::json::{self, FromJson, ToJson, Value, MAX_DEPTH};
use taskrt::{BlobRef, Time};

fn parse(text: &str) -> Result<Value, json::Error> {
    Value::parse(text.as_bytes())
}

fn string(text: &str) -> String {
    parse(text).unwrap().as_str().unwrap().to_string()
}

#[test]
fn values() {
    for (text, want) in [
        ("null", Value::Null),
        (" true\t", Value::Bool(true)),
        ("\r\nfalse", Value::Bool(false)),
        ("0", Value::Int(0)),
        ("-12", Value::Int(-12)),
        ("9223372036854775807", Value::Int(i64::MAX)),
        ("-9223372036854775808", Value::Int(i64::MIN)),
        ("9223372036854775808", Value::Float(9223372036854775808.0)),
        ("1.0", Value::Float(1.0)),
        ("2E-3", Value::Float(0.002)),
        ("1e+2", Value::Float(100.0)),
        ("1e-400", Value::Float(0.0)),
        ("[]", Value::Array(vec![])),
        ("[ ]", Value::Array(vec![])),
        ("{ }", Value::Object(BTreeMap::new())),
        ("[1 , [2]]", Value::Array(vec![Value::Int(1), Value::Array(vec![Value::Int(2)])])),
    ] {
        assert_eq!(parse(text), Ok(want), "{text}");
    }
    assert!(matches!(parse("-0"), Ok(Value::Float(n)) if n == 0.0 && n.is_sign_negative()));
    let twice = parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
    assert_eq!(twice.get("a"), Some(&Value::Int(3)), "the last one counts");
}

#[test]
fn strings() {
    for (text, want) in [
        (r#""""#, ""),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u0041\u00e9\u5317""#, "Aé北"),
        (r#""\ud83d\uDE00""#, "😀"),
        (r#""\ud83dx""#, "\u{fffd}x"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (r#""é 北京 😀 \u0000""#, "é 北京 😀 \0"),
        ("\"\u{7f}\u{2028}\"", "\u{7f}\u{2028}"),
    ] {
        assert_eq!(string(text), want, "{text}");
        assert_eq!(string(&json::to_string(want)), want, "written and read again");
    }
}

#[test]
fn errors_say_where() {
    for (text, offset, what) in [
        ("", 0, "JSON: unexpected end at byte 0 (line 1, column 1)"),
        ("  ", 2, "JSON: unexpected end at byte 2 (line 1, column 3)"),
        ("nul", 3, "JSON: unexpected end at byte 3 (line 1, column 4)"),
        ("nulL", 3, "JSON: unexpected character at byte 3 (line 1, column 4)"),
        ("\u{feff}1", 0, "JSON: unexpected character at byte 0 (line 1, column 1)"),
        ("1 2", 2, "JSON: text after the value at byte 2 (line 1, column 3)"),
        ("[1,\n\"é\",\n  ]", 12, "JSON: unexpected character at byte 12 (line 3, column 3)"),
        ("[\"é\" 1]", 6, "JSON: ',' or ']' is missing at byte 6 (line 1, column 6)"),
        ("{1:2}", 1, "JSON: a member's name is missing at byte 1 (line 1, column 2)"),
        (r#"{"a" 1}"#, 5, "JSON: ':' is missing at byte 5 (line 1, column 6)"),
        (r#"{"a":1,}"#, 7, "JSON: a member's name is missing at byte 7 (line 1, column 8)"),
        (r#"{"a":1"b":2}"#, 6, "JSON: ',' or '}' is missing at byte 6 (line 1, column 7)"),
        ("01", 1, "JSON: a number begins with 0 at byte 1 (line 1, column 2)"),
        ("-", 1, "JSON: unexpected end at byte 1 (line 1, column 2)"),
        ("-x", 1, "JSON: a digit is missing at byte 1 (line 1, column 2)"),
        ("1.x", 2, "JSON: a digit is missing at byte 2 (line 1, column 3)"),
        (".5", 0, "JSON: unexpected character at byte 0 (line 1, column 1)"),
        ("+1", 0, "JSON: unexpected character at byte 0 (line 1, column 1)"),
        ("[1e400]", 1, "JSON: a number out of range at byte 1 (line 1, column 2)"),
        ("\"a\nb\"", 2, "JSON: a control character in a string at byte 2 (line 1, column 3)"),
        (r#""\x""#, 2, "JSON: unknown escape at byte 2 (line 1, column 3)"),
        (r#""\u12g4""#, 5, "JSON: \\u needs four hexadecimal digits at byte 5 (line 1, column 6)"),
        (r#""\ud83d\u12""#, 11, "JSON: \\u needs four hexadecimal digits at byte 11 (line 1, column 12)"),
        ("\"abc", 4, "JSON: unexpected end at byte 4 (line 1, column 5)"),
        ("NaN", 0, "JSON: unexpected character at byte 0 (line 1, column 1)"),
    ] {
        let e = parse(text).unwrap_err();
        assert_eq!((e.offset(), e.to_string().as_str()), (Some(offset), what), "{text:?}");
    }
    let e = Value::parse(b"[\"a\xffb\"]").unwrap_err();
    assert_eq!(e.to_string(), "JSON: invalid UTF-8 at byte 3 (line 1, column 4)");
}

#[test]
fn depth_is_bounded() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    let e = parse(&nested(MAX_DEPTH + 1)).unwrap_err();
    assert_eq!(e.offset(), Some(MAX_DEPTH));
    assert!(e.to_string().starts_with("JSON: nested too deep"));
    assert!(parse(&"[{\"a\":".repeat(1_000_000)).is_err());
}

#[test]
fn every_prefix_is_refused_and_every_flip_is_read_or_refused() {
    let text = r#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",{"b":null,"c":[true,false]}],"é":{}}"#;
    let value = parse(text).unwrap();
    assert_eq!(parse(&json::to_string(&value)), Ok(value));
    for n in 0..text.len() {
        let e = Value::parse(&text.as_bytes()[..n]).unwrap_err();
        assert!(e.offset().unwrap() <= n, "{n}: {e}");
    }
    for at in 0..text.len() {
        for bit in 0..8 {
            let mut other = text.as_bytes().to_vec();
            other[at] ^= 1 << bit;
            if let Ok(v) = Value::parse(&other) {
                assert_eq!(parse(&json::to_string(&v)), Ok(v));
            }
        }
    }
}

#[test]
fn written() {
    for (got, want) in [
        (json::to_string(&()), "null"),
        (json::to_string(&u64::MAX), "18446744073709551615"),
        (json::to_string(&i64::MIN), "-9223372036854775808"),
        (json::to_string(&1.0), "1.0"),
        (json::to_string(&-0.0), "-0.0"),
        (json::to_string(&1e300), "1e300"),
        (json::to_string(&1.5e-7), "1.5e-7"),
        (json::to_string(&f64::NAN), "null"),
        (json::to_string(&f64::INFINITY), "null"),
        (json::to_string("\u{1}\u{1f}\"\\/é\u{2028}"), "\"\\u0001\\u001f\\\"\\\\/é\u{2028}\""),
        (json::to_string(&[Some(1), None]), "[1,null]"),
        (json::to_string(&HashMap::from([("b".to_string(), 1), ("a".to_string(), 2)])), r#"{"a":2,"b":1}"#),
        (json::to_string(&BTreeMap::from([("a".to_string(), None::<i32>)])), r#"{"a":null}"#),
        (json::to_string(&Time::from_unix_millis(5)), "5"),
    ] {
        assert_eq!(got, want);
    }
}

fn read<T: FromJson>(text: &str) -> Result<T, String> {
    json::from_slice(text.as_bytes()).map_err(|e| e.to_string())
}

#[test]
fn types() {
    assert_eq!(read("255"), Ok(255u8));
    assert_eq!(read("1e3"), Ok(1000u16));
    assert_eq!(read("-0"), Ok(0i8));
    assert_eq!(read::<u8>("256"), Err("JSON: must be 0 to 255, not 256".to_string()));
    assert_eq!(read::<u64>("-1"), Err("JSON: must be 0 to 18446744073709551615, not -1".to_string()));
    assert_eq!(read::<i64>("1.5"), Err("JSON: must be an integer, not 1.5".to_string()));
    assert_eq!(read::<u64>("18446744073709551615"), Err("JSON: must be an integer, not 1.8446744073709552e19".to_string()));
    assert_eq!(read::<i64>("\"1\""), Err("JSON: must be an integer, not a string".to_string()));
    assert_eq!(read("3"), Ok(3.0f64));
    assert_eq!(read("null"), Ok(None::<bool>));
    assert_eq!(read("[[1],[2,3]]"), Ok(vec![vec![1], vec![2, 3]]));
    assert_eq!(read::<Vec<Vec<i32>>>("[[1],[2,true]]"), Err("JSON: [1][1]: must be an integer, not a boolean".to_string()));
    assert_eq!(read("{\"a\":1}"), Ok(BTreeMap::from([("a".to_string(), 1)])));
    assert_eq!(read::<()>("{}"), Err("JSON: must be null, not an object".to_string()));
}

taskrt::json_struct! {
    /// Everything that the macro takes.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Order {
        /// A field with a comment.
        pub id: String,
        pub(crate) lines: Vec<Line>,
        r#type: Option<String>,
        unit: String as "unit-of-lines" = "piece".to_string(),
        urgent: bool = false,
        table: Option<BlobRef>,
    }

    #[derive(Clone, Debug, PartialEq)]
    struct Line {
        article: Box<i64>,
        n: u32 = 1
    }
}

#[test]
fn structs() {
    let text = r#"{"id":"o1","lines":[{"article":7,"n":1},{"article":8,"n":2}],"unit-of-lines":"piece","urgent":true}"#;
    let order: Order = read(text).unwrap();
    assert_eq!(order.lines[0], Line { article: Box::new(7), n: 1 });
    assert_eq!((order.urgent, &order.r#type, &order.table), (true, &None, &None));
    assert_eq!(json::to_string(&order), text);
    let changed = Order { r#type: Some("x".to_string()), ..order.clone() };
    assert_eq!(read::<Order>(&json::to_string(&changed)), Ok(changed));
    for (text, want) in [
        ("{}", "JSON: id: is missing"),
        ("[]", "JSON: must be an object, not an array"),
        (r#"{"id":null,"lines":[]}"#, "JSON: id: must be a string, not null"),
        (r#"{"id":"","lines":[{"article":1},{"article":1,"n":-1}]}"#, "JSON: lines[1].n: must be 0 to 4294967295, not -1"),
        (r#"{"id":"","lines":[{"article":1,"m":1}]}"#, "JSON: lines[0].m: is unknown"),
        (r#"{"id":"","lines":[],"unit":"x"}"#, "JSON: unit: is unknown"),
        (
            r#"{"id":"","lines":[],"table":{"$blob":"x"}}"#,
            "JSON: table.$blob: must be sha256: and 64 lower-case hexadecimal digits",
        ),
    ] {
        assert_eq!(read::<Order>(text).unwrap_err(), want, "{text}");
    }
}

#[test]
fn blob_names() {
    let name = format!("sha256:{}", "0f".repeat(32));
    let text = format!(r#"{{"$blob":"{name}"}}"#);
    let blob: BlobRef = read(&text).unwrap();
    assert_eq!((&blob.name, json::to_string(&blob)), (&name, text));
    for bad in [name.to_uppercase(), name.replace("0f", "0F"), name.clone() + "0", name[..70].to_string(), String::new()] {
        assert!(read::<BlobRef>(&format!(r#"{{"$blob":"{bad}"}}"#)).is_err(), "{bad}");
    }
    assert!(read::<BlobRef>(&format!(r#"{{"$blob":"{name}","x":1}}"#)).is_err());
}

#[test]
fn by_hand() {
    struct Color(u8);
    impl FromJson for Color {
        fn from_json(value: Value) -> Result<Color, json::Error> {
            match value.as_str() {
                Some("red") => Ok(Color(1)),
                _ => Err(json::Error::shape("must be a color")),
            }
        }
    }
    impl ToJson for Color {
        fn write_json(&self, out: &mut String) {
            self.0.write_json(out);
        }
    }
    assert_eq!(json::to_string(&read::<Vec<Color>>(r#"["red"]"#).unwrap()), "[1]");
    let e = json::from_slice::<Vec<Color>>(br#"["red","x"]"#).map(|_| ()).unwrap_err();
    assert_eq!((e.path(), e.offset()), ("[1]", None));
}
