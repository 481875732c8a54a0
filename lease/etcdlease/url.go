package etcdlease

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Open makes a store of the namespace by a URL such as etcd://host:2379,host2:2379/prefix, which
// may have a user and a password before the hosts. Without a port it is 2379, and without a prefix
// that of [WithPrefix]. With etcds the members are spoken to by TLS; then ca_file, cert_file and
// key_file after a ? name files in PEM. It does not connect. No error shows the password.
func Open(url, namespace string, opts ...Option) (*Store, error) {
	config, prefix, err := parse(url)
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		opts = append([]Option{WithPrefix(prefix)}, opts...)
	}
	return New(config, namespace, opts...)
}

func parse(text string) (config clientv3.Config, prefix string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return config, "", errors.New("etcdlease: URL: cannot be read: what is not a letter or a digit in a password is written as %XX")
	}
	if u.Scheme != "etcd" && u.Scheme != "etcds" {
		return config, "", fmt.Errorf("etcdlease: URL: scheme %q must be etcd or etcds", u.Scheme)
	}
	var faults []error
	for i, host := range strings.Split(u.Host, ",") {
		if name := strings.Trim(host, "[]"); host != "" && (!strings.Contains(host, ":") || host != name && strings.HasSuffix(host, "]")) {
			host = net.JoinHostPort(name, "2379")
		}
		if name, port, err := net.SplitHostPort(host); err != nil || name == "" || port == "" {
			faults = append(faults, fmt.Errorf("etcdlease: URL: host %d must be HOST or HOST:PORT", i+1))
		}
		config.Endpoints = append(config.Endpoints, host)
	}
	if u.User != nil {
		config.Username = u.User.Username()
		config.Password, _ = u.User.Password()
		if config.Username == "" || config.Password == "" {
			faults = append(faults, errors.New("etcdlease: URL: a user and a password must come together"))
		}
	}
	query := u.Query()
	if u.Scheme == "etcds" {
		config.TLS, err = tlsOf(query)
		faults = append(faults, err)
		for _, name := range []string{"ca_file", "cert_file", "key_file"} {
			query.Del(name)
		}
	}
	if len(query) > 0 { // their names may be the rest of a password
		faults = append(faults, errors.New("etcdlease: URL: what follows a ? must be ca_file, cert_file and key_file, with etcds; a ? in a password is written %3F"))
	}
	return config, strings.Trim(u.Path, "/"), errors.Join(faults...)
}

// tlsOf reads the files that a URL names.
func tlsOf(query url.Values) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := query.Get("ca_file"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("etcdlease: URL: ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("etcdlease: URL: ca_file %q holds no certificate in PEM", file)
		}
	}
	cert, key := query.Get("cert_file"), query.Get("key_file")
	if cert == "" && key == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("etcdlease: URL: cert_file and key_file: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}
