package proctest

import "os"

// Other returns what the environment names in place of a server that is installed, or that
// test/servers pins, so that tests run on another version: as SOLOTICK_TEST_POSTGRES does. It is ""
// for what is installed. docs/compatibility.md says what each variable names.
func Other(server string) string { return os.Getenv("SOLOTICK_TEST_" + server) }
