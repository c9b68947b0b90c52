package cmdline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfig: the file of --config may be a unit's environment file: what is not taskrt's is skipped, and a slip of the pen is not.
func TestConfig(t *testing.T) {
	known := map[string]bool{"TASKRT_ID": true, "TASKRT_JOIN": true, "TASKRT_DIR": true}
	for _, tc := range []struct {
		name, text string
		want       map[string]string
		refused    string // what the error says; "": none
	}{
		{
			name: "all",
			text: "# a comment \\\n; another one\n\nTASKRT_ID = \"n 1\"\r\nTASKRT_DIR='/var/lib/x'\nTASKRT_JOIN=a:1,\\\nb:2\nGOMEMLIMIT=1GiB\nhttp_proxy=http://p\nAWS_ACCESS_KEY_ID=x\\\ny",
			want: map[string]string{"TASKRT_ID": "n 1", "TASKRT_DIR": "/var/lib/x", "TASKRT_JOIN": "a:1,b:2"},
		},
		{name: "characters", text: "TASKRT_ID=a#b\\c'd\"\nTASKRT_DIR={\"a\":1}", want: map[string]string{"TASKRT_ID": `a#b\c'd"`, "TASKRT_DIR": `{"a":1}`}},
		{name: "others twice", text: "PATH=a\nPATH=b\nTASKRTX=1", want: map[string]string{}},
		{name: "typo", text: "TASKRT_ID=n1\n\nTASKRT_JION=x", refused: `file:3: "TASKRT_JION" is the variable of no flag`},
		{name: "lower case", text: "taskrt_id=n1", refused: "file:1:"},
		{name: "export", text: "export TASKRT_ID=n1", refused: `file:1: "export TASKRT_ID" is not NAME=VALUE`},
		{name: "no value", text: "A=\\\nb\nTASKRT_ID", refused: `file:3: "TASKRT_ID" is not NAME=VALUE`},
		{name: "twice", text: "TASKRT_ID=a\nTASKRT_ID=a", refused: "file:2: TASKRT_ID is given twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readConfig(file, known)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("%v, want %s", err, tc.refused)
				}
				return
			}
			if err != nil || len(got) != len(tc.want) {
				t.Errorf("%q, %v; want %q", got, err, tc.want)
			}
			for name, value := range tc.want {
				if got[name] != value {
					t.Errorf("%s: %q, want %q", name, got[name], value)
				}
			}
		})
	}
}
