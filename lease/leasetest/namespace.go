package leasetest

import "github.com/solotick/solotick/internal/protocol"

func namespaceIsANameThatStays(f *fixture) {
	namespace := f.store.Namespace()
	if !protocol.ValidName(namespace) {
		f.Fatalf("namespace %q %s", namespace, protocol.NameRule)
	}

	f.ok("Settle", f.settle(f.grant(1, "a"), "succeeded"))

	f.equal("Namespace", f.store.Namespace(), namespace)
	f.equal("NamespaceOf", f.store.Namespace(), namespace)
}
