package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// isMySQL reports whether a program is MySQL's server, and not MariaDB's.
func isMySQL(binary string) (bool, error) {
	text, err := exec.Command(binary, "--no-defaults", "--version").CombinedOutput()
	if err != nil {
		return false, fmt.Errorf("%s --version: %w\n%s", binary, err, text)
	}
	return !strings.Contains(string(text), "MariaDB"), nil
}

// rootOnTCP has the user root on 127.0.0.1, too, where MySQL has it on the socket only.
const rootOnTCP = "CREATE USER root@'127.0.0.1'; GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"

// rootFile lies in the directory with the tables, which MySQL wants to be empty but for such names.
const rootFile = ".root.sql"

func writeRootOnTCP(dir string) error {
	return os.WriteFile(filepath.Join(dir, rootFile), []byte(strings.ReplaceAll(rootOnTCP, "; ", ";\n")), 0o644) //nolint:gosec // the server may run as another user
}

// mysqlTables makes the tables of MySQL itself, which takes some seconds.
func mysqlTables(binary string) Program {
	return func(dir string) (*exec.Cmd, error) {
		return exec.Command(binary, append(mariadbArgs(binary, dir), "--initialize-insecure", MariaDBNoSync, "--init-file="+filepath.Join(dir, rootFile))...), nil
	}
}
