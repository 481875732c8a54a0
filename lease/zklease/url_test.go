package zklease

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestURLNamesServersUserAndPath(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]address{
		"zk://a":                     {addrs: []string{"a:2181"}, path: "/solotick"},
		"zk://a/":                    {addrs: []string{"a:2181"}, path: "/solotick"},
		"zk://a:1,b,[::1],[::2]:3/x": {addrs: []string{"a:1", "b:2181", "[::1]:2181", "[::2]:3"}, path: "/x"},
		"zk://u:p%40%2F:@a/x/y-1/":   {addrs: []string{"a:2181"}, user: "u:p@/:", path: "/x/y-1"},
		"zk://u:p@ss@a":              {addrs: []string{"a:2181"}, user: "u:p@ss", path: "/solotick"},
	} {
		got, err := parse(url)
		require.NoError(t, err, url)
		require.Equal(t, want, got, url)
	}
}

func TestFaultyURLSaysWhichPartAndNoPassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://u:s3cret@a": "must begin with zk://",
		"zk://":              `server "" must be a host`,
		"zk://a,,b":          `server "" must be a host`,
		"zk://a:x":           `server "a:x" must be a host`,
		"zk://a b":           `server "a b" must be a host`,
		"zk://u@a":           "must be user:password",
		"zk://:s3cret@a":     "must be user:password",
		"zk://u:s3cret%@a":   "must be user:password",
		"zk://u:s3cret@a//b": `path "//b"`,
		"zk://a/x//y":        `path "/x//y"`,
		"zk://a/../y":        `path "/../y"`,
		"zk://a/zookeeper/x": "must not be zookeeper",
	} {
		_, err := Open(url, "fleet")
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestFaultsOfOptionsComeAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Open("zk://", "no namespace", nil, WithTimeout(1), WithSessionTimeout(1))
	for _, want := range []string{"options[0]", "timeout 1ns", "session timeout 1ns", "URL: server", "namespace"} {
		require.ErrorContains(t, err, want)
	}
}
