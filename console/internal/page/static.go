package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

// Each file of vendor is as its makers published it: vendor/VERSION says which. The folder has no
// folders in it, since the zip of a module leaves those out.
//
//go:embed static/* vendor/*
var embedded embed.FS

// asset is one static file, under a name that has the hash of its content, so that it can be kept
// for ever.
type asset struct {
	name        string
	contentType string
	body, gz    []byte
}

// assets finds the static files by their hashed name and by their plain one.
var assets = sync.OnceValue(func() map[string]*asset {
	found := map[string]*asset{}
	for _, dir := range []string{"static", "vendor"} {
		entries, err := embedded.ReadDir(dir)
		if err != nil {
			panic(err) // the program has them in itself
		}
		for _, entry := range entries {
			ext := path.Ext(entry.Name())
			if ext != ".css" && ext != ".js" && ext != ".svg" {
				continue
			}
			body, err := embedded.ReadFile(path.Join(dir, entry.Name()))
			if err != nil {
				panic(err)
			}
			sum := sha256.Sum256(body)
			hashed := strings.TrimSuffix(entry.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
			a := &asset{name: hashed, contentType: mime.TypeByExtension(ext), body: body, gz: Compressed(body, gzip.BestCompression)}
			found[hashed], found[entry.Name()] = a, a
		}
	}
	return found
})

// Compressed returns a body as gzip writes it at a level of its package.
func Compressed(body []byte, level int) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, level)
	_, _ = w.Write(body) // to memory: it cannot fail
	_ = w.Close()
	return b.Bytes()
}

// Static serves the static files: the last element of a path is a name of one, with the hash of its
// content. Any other is not found.
func Static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := assets()[path.Base(r.URL.Path)]
		if a == nil || a.name != path.Base(r.URL.Path) {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", a.contentType)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Vary", "Accept-Encoding")
		h.Set("X-Content-Type-Options", "nosniff")
		body := a.body
		if AcceptsGzip(r.Header.Get("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			body = a.gz
		}
		_, _ = w.Write(body)
	})
}

// AcceptsGzip reports whether an Accept-Encoding header allows gzip.
func AcceptsGzip(header string) bool {
	for coding, quality := range Preferences(header) {
		if coding == "gzip" {
			return quality > 0
		}
	}
	return false
}
