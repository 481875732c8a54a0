package console

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompressedBodyIsTheSameBody(t *testing.T) {
	text := []byte(strings.Repeat("a page of a hundred jobs ", 1000))
	short := compressed(text)
	require.Less(t, len(short), len(text)/20)
	z, err := gzip.NewReader(bytes.NewReader(short))
	require.NoError(t, err)
	long, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, text, long)
}
