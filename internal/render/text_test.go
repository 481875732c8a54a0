package render

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestControlCharactersAreNotPrinted(t *testing.T) {
	require.Equal(t, "a\nb?[31mc\n  d", Lines("a\nb\x1b[31mc\r\n  d\n\n"))
	require.Equal(t, "a b?[31mc?d?e", Line("a\nb\x1b[31mc\u202ed\xffe \n"))
	require.Equal(t, "größe 日", Line("größe 日"))
}
