package zklease_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServersSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	s := open(t, shared.Addr()+",127.0.0.1:1", "")
	list := s.Servers(t.Context())
	require.Equal(t, shared.Addr(), list[0].Addr)
	require.NoError(t, list[0].Err)
	require.Regexp(t, `^[0-9.]+$`, list[0].Version)
	require.Equal(t, "standalone", list[0].Mode)
	require.Error(t, list[1].Err)
}

func TestServerBefore36IsTooOld(t *testing.T) {
	t.Parallel()
	const word = "srvr is not executed because it is not in the whitelist.\n"
	for text, old := range map[string]bool{
		"Zookeeper version: 3.5.9-x, built on 1\nMode: leader\n": true, "Zookeeper version: 3.4.14, built on 1\n": true,
		"Zookeeper version: 3.6.0-x, built on 1\n": false, "Zookeeper version: 3.10.1, built on 1\n": false, word: false,
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				_, _ = conn.Write([]byte(text))
				_ = conn.Close()
			}
		}()
		said := open(t, listener.Addr().String(), "").Servers(t.Context())[0]
		require.Equal(t, old, said.TooOld, text)
		require.Equal(t, text == word, said.Version == "", text)
		require.NoError(t, listener.Close())
	}
}
