package naming_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/naming"
)

func TestKeyedNamesAreOneOrTwoNames(t *testing.T) {
	long := strings.Repeat("a", 128)
	for name, valid := range map[string]bool{
		"job": true, "job/key": true, long + "/" + long: true, "a.b-c_d/1": true,
		"": false, "/": false, "job/": false, "/key": false, "job/-key": false, "job/key/more": false, "job/a b": false,
		long + "a/key": false, "job/" + long + "a": false,
	} {
		require.Equal(t, valid, naming.ValidKeyed(name), name)
	}
}

func TestKeyedNamesSplitIntoTheirParts(t *testing.T) {
	for _, key := range []string{"", "acme"} {
		job, again := naming.SplitKeyed(naming.Keyed("report", key))
		require.Equal(t, "report", job)
		require.Equal(t, key, again)
	}
}
