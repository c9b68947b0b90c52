package api

// MaxManifest bounds a manifest that is given beside the file, in bytes.
const MaxManifest = 1 << 20

// Check tells what is wrong with a push, apart from its file; nil or an *Error.
func (r *PushRequest) Check() error {
	if r.Name != "" {
		if err := CheckBehaviorName("name", r.Name); err != nil {
			return err
		}
	}
	if len(r.Manifest) > MaxManifest {
		return LimitError("manifest", MaxManifest, "%d bytes, at most %d", len(r.Manifest), MaxManifest)
	}
	if r.Manifest != nil {
		if err := CheckJSON(r.Manifest); err != nil {
			err.Field = "manifest"
			return err
		}
	}
	return nil
}
