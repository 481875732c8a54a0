package leasetest

import "github.com/solotick/solotick/lease"

func namespaceIsANameThatStays(f *fixture) {
	n, ok := f.store.(lease.Namespacer)
	if !ok {
		f.Skip("the store is no lease.Namespacer")
	}
	namespace := n.Namespace()
	if !lease.ValidName(namespace) {
		f.Fatalf("namespace %q %s", namespace, lease.NameRule)
	}

	f.ok("Settle", f.settle(f.grant(1, "a"), "succeeded"))

	f.equal("Namespace", n.Namespace(), namespace)
	f.equal("NamespaceOf", lease.NamespaceOf(f.store), namespace)
}
