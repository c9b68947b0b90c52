/// Defines structs that are read from JSON objects and written as them.
///
/// Every field is a member of its name, or of the one behind `as`. A member that is not there, if its field is no `Option` and has
/// no default behind `=`, is an error; so is a member that is no field. `None` is not written.
///
/// ```
/// taskrt::json_struct! {
///     #[derive(Debug, PartialEq)]
///     pub struct Params {
///         pub n: u32,
///         pub kind: String as "type",
///         pub step: u32 = 10,
///         pub note: Option<String>,
///     }
///
///     struct Empty {}
/// }
///
/// let p: Params = taskrt::json::from_slice(br#"{"n":1,"type":"x"}"#).unwrap();
/// assert_eq!(p, Params { n: 1, kind: "x".to_string(), step: 10, note: None });
/// assert_eq!(taskrt::json::to_string(&p), r#"{"n":1,"type":"x","step":10}"#);
/// assert_eq!(taskrt::json::from_slice::<Params>(br#"{"n":-1,"type":"x"}"#).unwrap_err().to_string(),
///     "JSON: n: must be 0 to 4294967295, not -1");
/// assert!(taskrt::json::from_slice::<Empty>(b"{}").is_ok());
/// ```
#[macro_export]
macro_rules! json_struct {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty $(as $member:literal)? $(= $default:expr)? ),* $(,)?
        }
    )+) => { $(
        $(#[$meta])*
        $vis struct $name {
            $( $(#[$field_meta])* $field_vis $field: $type, )*
        }

        impl $crate::json::FromJson for $name {
            #[allow(unused_mut)]
            fn from_json(value: $crate::json::Value) -> ::core::result::Result<Self, $crate::json::Error> {
                let mut members = $crate::json::Members::of(value)?;
                let made = $name {
                    $( $field: $crate::__json_take!(members, $crate::__json_name!($field $($member)?) $(, $default)?), )*
                };
                members.end()?;
                ::core::result::Result::Ok(made)
            }
        }

        impl $crate::json::ToJson for $name {
            #[allow(unused_mut)]
            fn write_json(&self, out: &mut ::std::string::String) {
                let mut writer = $crate::json::ObjectWriter::new(out);
                $( writer.member($crate::__json_name!($field $($member)?), &self.$field); )*
                writer.end();
            }
        }
    )+ };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __json_take {
    ($members:ident, $name:expr) => {
        $members.take($name)?
    };
    ($members:ident, $name:expr, $default:expr) => {
        $members.take_or($name, || $default)?
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __json_name {
    ($field:ident) => {
        $crate::json::field_name(::core::stringify!($field))
    };
    ($field:ident $member:literal) => {
        $member
    };
}
