package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// authority is a certificate authority that trusts nobody else.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue writes NAME.crt and NAME.key.
func (a *authority) issue(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.Subject = pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	made, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	for file, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		require.NoError(a.t, os.WriteFile(a.path(name+file), pem.EncodeToMemory(block), 0o600))
	}
	return made, key
}

func TestAWorkerSpeaksTLSAsItsUser(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	ca.issue("server", &x509.Certificate{DNSNames: []string{"redis.internal"}})
	ca.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	port := freePort(t)
	documentedRights, _ := documentedRights(t)
	redistest.Start(t, redistest.WithAOF(), redistest.WithConf("tls-port", port),
		redistest.WithConf("tls-cert-file", ca.path("server.crt")), redistest.WithConf("tls-key-file", ca.path("server.key")),
		redistest.WithConf("tls-ca-cert-file", ca.path("ca.crt")), redistest.WithConf("user", "default", "off"),
		redistest.WithConf("user", append([]string{"app", "on", ">secret"}, documentedRights...)...))
	redis := func(tls string) string {
		return filetest.Config(t, "redis:\n  url: rediss://127.0.0.1:"+port+"\n  username: app\n  password: \"${PASSWORD:-secret}\"\n  tls: {"+tls+"}\n"+workertest.OneJob)
	}
	all := fmt.Sprintf("ca_file: %q, cert_file: %q, key_file: %q, server_name: redis.internal", ca.path("ca.crt"), ca.path("client.crt"), ca.path("client.key"))
	p := workertest.Start(t, redis(all), "--http", "127.0.0.1:0")
	p.Ready(http.StatusOK)
	p.Await("tick settled", "job", "hello", "outcome", "succeeded")
	require.Empty(t, p.All("Redis is not as it should be"))
	asked(t, redis(all), "hello")

	for tls, want := range map[string]string{
		strings.Replace(all, "redis.internal", "other.internal", 1):                "not other.internal",
		strings.Replace(all, "server_name: redis.internal", "", 1):                 "cannot validate certificate for 127.0.0.1",
		"server_name: redis.internal":                                              "unknown authority",
		fmt.Sprintf("ca_file: %q, server_name: redis.internal", ca.path("ca.crt")): "certificate required",
	} {
		r := workertest.Do(t, nil, "status", "--config", redis(tls))
		require.Equal(t, 1, r.Code, tls)
		require.Contains(t, r.Stderr, want)
		require.Contains(t, r.Stderr, "check whether this Redis speaks TLS")
	}
	r := workertest.Do(t, map[string]string{"PASSWORD": "wrong"}, "status", "--config", redis(all))
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "WRONGPASS")

	for tls, want := range map[string]string{
		"ca_file: /no/such/file":                          "redis.tls.ca_file: cannot be read: open /no/such/file: no such file or directory\n",
		fmt.Sprintf("ca_file: %q", ca.path("server.key")): "redis.tls.ca_file: \"" + ca.path("server.key") + "\" holds no certificate in PEM\n",
		fmt.Sprintf("cert_file: %q, key_file: %q", ca.path("server.crt"), ca.path("client.key")): "redis.tls.cert_file: cannot be used with key_file: ",
	} {
		for _, command := range []string{"validate", "run", "status"} {
			r := workertest.Do(t, nil, command, "--config", redis(tls))
			require.Equal(t, 2, r.Code, tls)
			require.Contains(t, r.Stderr, want)
		}
	}
}
