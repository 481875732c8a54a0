package mysqllease

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/solotick/solotick/internal/sqlstore"
)

// ErrClosed is matched by the error of calls of a store that was closed.
var ErrClosed = sqlstore.ErrClosed

// rights are what a user needs.
const rights = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE on the database to the user, and ALTER while tables are brought up to date"

// hints are what to change, by the number of the server's error; permanent ones stay until somebody
// does.
var hints = map[uint16]struct {
	permanent bool
	hint      string
}{
	1045: {true, "check the user and the password, and add tls=true to the URL where the server wants TLS"},
	1698: {true, "check the user and the password"},
	1862: {true, "set a new password of the user: it has expired"},
	3118: {true, "unlock the account of the user"},
	1130: {true, "let the user connect from this host"},
	1044: {true, rights},
	1142: {true, rights},
	1143: {true, rights},
	1227: {true, rights},
	3159: {true, "add tls=true to the URL: the server takes connections with TLS only"},
	1049: {true, "make the database (CREATE DATABASE), or name another"},
	1193: {true, "leave out of the URL what follows the ? and is no parameter of go-sql-driver: the server is told to set it, and does not know it"},
	1231: {true, "correct what follows the ? in the URL: the server does not take it"},
	1146: {true, "make the tables again: start a worker, or let the user CREATE"},

	1290: {false, "name the primary: this server is read-only"},
	1792: {false, "name the primary: this server is read-only"},
	1836: {false, "name the primary: this server is read-only"},
	1040: {false, "raise max_connections of the server"},
	1203: {false, "raise max_user_connections of the server"},
	1226: {false, "raise the limits of the user"},
	1129: {false, "FLUSH HOSTS on the server, which has blocked this host"},
	1021: {false, "make room on the server's disk"},
	1114: {false, "make room on the server's disk"},
	1153: {false, "raise max_allowed_packet of the server"},
	1205: {false, "look for the transaction that holds locks, in SHOW ENGINE INNODB STATUS"},
	1665: {true, "set binlog_format of the server to ROW or MIXED"},

	1054: {true, changed},
	1136: {true, changed},
	1264: {true, changed},
	1364: {true, changed},
	1366: {true, changed},
	1406: {true, changed},
}

const changed = "undo the change of the tables, or stop all processes and drop the tables that begin with solotick_"

func advice(err error) (hint string, permanent bool) {
	if h, ok := hints[number(err)]; ok {
		return h.hint, h.permanent
	}
	switch {
	case errors.Is(err, mysql.ErrNoTLS):
		return "set up TLS on the server, or leave tls out of the URL", true
	case errors.Is(err, mysql.ErrUnknownPlugin), errors.Is(err, mysql.ErrCleartextPassword), errors.Is(err, mysql.ErrOldPassword):
		return "give the user another way to authenticate, such as caching_sha2_password", true
	case errors.Is(err, mysql.ErrInvalidConn):
		return "check that MySQL or MariaDB runs at that address, and its log: it has said nothing, or ended the connection", false
	case errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrPktSync), errors.Is(err, mysql.ErrPktSyncMul), errors.Is(err, mysql.ErrOldProtocol):
		return "check the port in the URL: what answers there is no MySQL or MariaDB", true
	case errors.Is(err, mysql.ErrPktTooLarge):
		return "raise max_allowed_packet of the server", false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "check the server's certificate, and tls in the URL", true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "check the server's certificate, and tls in the URL", true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "check the host in the URL", false
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, context.DeadlineExceeded) {
		return "check that the server runs, its address in the URL, and the network between", false
	}
	return "", false
}
