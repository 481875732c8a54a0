package leasetest

import "github.com/solotick/solotick/internal/protocol"

func namespaceIsANameThatStays(f *fixture) {
	n, ok := f.store.(protocol.Namespacer)
	if !ok {
		f.Skip("the store is no protocol.Namespacer")
	}
	namespace := n.Namespace()
	if !protocol.ValidName(namespace) {
		f.Fatalf("namespace %q %s", namespace, protocol.NameRule)
	}

	f.ok("Settle", f.settle(f.grant(1, "a"), "succeeded"))

	f.equal("Namespace", n.Namespace(), namespace)
	f.equal("NamespaceOf", protocol.NamespaceOf(f.store), namespace)
}
