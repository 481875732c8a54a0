package etcdlease_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/lease/etcdlease"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.key = a.write("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// write makes a certificate and its key, as NAME.pem and NAME.key.
func (a *authority) write(name string, c *x509.Certificate) *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	require.NoError(a.t, err)
	if a.cert == nil {
		a.cert, err = x509.ParseCertificate(der)
		require.NoError(a.t, err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	require.NoError(a.t, err)
	for end, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "EC PRIVATE KEY", Bytes: secret}} {
		require.NoError(a.t, os.WriteFile(a.path(name+end), pem.EncodeToMemory(block), 0o600))
	}
	return key
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// secure starts an etcd that speaks TLS to those who have a certificate of the authority.
func (a *authority) secure() *servertest.Server {
	a.t.Helper()
	a.write("server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	a.write("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	program, err := servertest.Program("etcd")
	require.NoError(a.t, err)
	pair, err := tls.LoadX509KeyPair(a.path("client.pem"), a.path("client.key"))
	require.NoError(a.t, err)
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	a.t.Cleanup(transport.CloseIdleConnections)
	s, err := servertest.Start(2, func(s *servertest.Server) *exec.Cmd {
		peer, client := "http://"+s.Addr(1), "https://"+s.Addr(0)
		return exec.Command(program, "--name", "a", "--data-dir", "data", "--log-level", "error", "--unsafe-no-fsync",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "a="+peer,
			"--client-cert-auth", "--trusted-ca-file", a.path("ca.pem"), "--cert-file", a.path("server.pem"), "--key-file", a.path("server.key"))
	}, func(s *servertest.Server) error {
		res, err := (&http.Client{Transport: transport, Timeout: time.Second}).Get("https://" + s.Addr(0) + "/health")
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	})
	require.NoError(a.t, err)
	a.t.Cleanup(s.Stop)
	return s
}

func TestTLSWantsCertificatesOfBothSides(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	theirs.write("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	etcd := ours.secure()
	client := func(a *authority) string {
		return "&cert_file=" + a.path("client.pem") + "&key_file=" + a.path("client.key")
	}
	trust := func(a *authority) string { return "?ca_file=" + a.path("ca.pem") }
	openURL := func(url string, timeout time.Duration) *etcdlease.Store {
		s, err := etcdlease.Open(url, "fleet", etcdlease.WithTimeout(timeout))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}

	s := openURL("etcds://"+etcd.Addr(0)+"/fleets"+trust(ours)+client(ours), 20*time.Second)
	require.NoError(t, s.Check(t.Context()))
	sync1(t, s)
	require.Equal(t, protocol.Granted, claim(t, s, of(100, "a", long)).Status)
	now, _, err := s.Time(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), now, time.Minute)
	facts, err := s.Facts(t.Context())
	require.NoError(t, err)
	require.NoError(t, facts.Members[0].Err)

	for name, c := range map[string]struct{ url, says, hint string }{
		"another authority":      {"etcds://" + etcd.Addr(0) + trust(theirs) + client(ours), "certificate signed by unknown authority", "check ca_file"},
		"certificate of another": {"etcds://" + etcd.Addr(0) + trust(ours) + client(theirs), "remote error: tls", "check cert_file and key_file"},
		"no certificate":         {"etcds://" + etcd.Addr(0) + trust(ours), "certificate required", "check cert_file and key_file"},
		"no TLS":                 {"etcd://" + etcd.Addr(0), "", "both sides use TLS or neither"},
	} {
		s := openURL(c.url, time.Second/2)
		require.EventuallyWithT(t, func(check *assert.CollectT) {
			err := s.Check(t.Context())
			assert.ErrorContains(check, err, c.says, name)
			assert.ErrorContains(check, err, c.hint, name)
		}, time.Minute, 10*time.Millisecond)
	}
}
