package main

import (
	"fmt"
	"go/types"
	"path"
	"slices"
	"strings"
)

// describe returns a line for each thing in a package that programs can depend on, sorted. What may
// be added without harm to them has an entry of its own. What may not is in one entry: all methods
// of an interface, which others may have implemented.
func describe(pkg *types.Package) (lines []string) {
	for _, name := range pkg.Scope().Names() {
		if object := pkg.Scope().Lookup(name); object.Exported() {
			lines = append(lines, describeObject(object)...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func describeObject(object types.Object) []string {
	switch o := object.(type) {
	case *types.Const:
		return []string{fmt.Sprintf("const %s %s = %s", o.Name(), text(o.Type()), o.Val().ExactString())}
	case *types.Func:
		return []string{"func " + o.Name() + signature(o.Signature())}
	case *types.TypeName:
		if o.IsAlias() {
			return []string{fmt.Sprintf("type %s = %s", o.Name(), text(types.Unalias(o.Type())))}
		}
		return describeType(o.Name(), o.Type().(*types.Named))
	default:
		return []string{fmt.Sprintf("var %s %s", o.Name(), text(o.Type()))}
	}
}

func describeType(name string, named *types.Named) (lines []string) {
	name += parameters(named.TypeParams())
	switch under := named.Underlying().(type) {
	case *types.Struct:
		lines = append(lines, "type "+name+" struct")
		for field := range under.Fields() {
			if field.Exported() {
				lines = append(lines, fmt.Sprintf("type %s struct, %s %s", name, field.Name(), text(field.Type())))
			}
		}
	case *types.Interface:
		return describeInterface(name, under)
	default:
		lines = append(lines, "type "+name+" "+text(under))
	}
	value := types.NewMethodSet(named)
	for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		method := selection.Obj().(*types.Func)
		if !method.Exported() {
			continue
		}
		receiver := "*" + name
		if value.Lookup(method.Pkg(), method.Name()) != nil {
			receiver = name
		}
		lines = append(lines, fmt.Sprintf("method (%s) %s%s", receiver, method.Name(), signature(selection.Type().(*types.Signature))))
	}
	return lines
}

// describeInterface has one line for an interface that others may have implemented: a method more
// breaks them. Nobody else can implement one with an unexported method.
func describeInterface(name string, t *types.Interface) []string {
	lines := []string{"type " + name + " interface, sealed"}
	for m := range t.Methods() {
		if m.Exported() {
			lines = append(lines, fmt.Sprintf("type %s interface, %s%s", name, m.Name(), signature(m.Signature())))
		}
	}
	if len(lines) > t.NumMethods() {
		return []string{"type " + name + " " + text(t)}
	}
	return lines
}

func parameters(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var parts []string
	for p := range list.TypeParams() {
		parts = append(parts, p.Obj().Name()+" "+text(p.Constraint()))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func signature(s *types.Signature) string {
	return parameters(s.TypeParams()) + strings.TrimPrefix(text(types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())), "func")
}

// text writes a type without the names of parameters, which nobody depends on. Packages of this
// repository are called by their path within it.
func text(t types.Type) string {
	return types.TypeString(unnamed(t), func(pkg *types.Package) string {
		if pkg.Path() == module {
			return path.Base(module)
		}
		return strings.TrimPrefix(pkg.Path(), module+"/")
	})
}

func unnamed(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Signature:
		return types.NewSignatureType(nil, nil, nil, tuple(t.Params()), tuple(t.Results()), t.Variadic())
	case *types.Pointer:
		return types.NewPointer(unnamed(t.Elem()))
	case *types.Slice:
		return types.NewSlice(unnamed(t.Elem()))
	case *types.Map:
		return types.NewMap(unnamed(t.Key()), unnamed(t.Elem()))
	case *types.Chan:
		return types.NewChan(t.Dir(), unnamed(t.Elem()))
	case *types.Interface:
		var methods []*types.Func
		for m := range t.ExplicitMethods() {
			methods = append(methods, types.NewFunc(0, m.Pkg(), m.Name(), unnamed(m.Signature()).(*types.Signature)))
		}
		return types.NewInterfaceType(methods, slices.Collect(t.EmbeddedTypes())).Complete()
	default:
		return t
	}
}

func tuple(t *types.Tuple) *types.Tuple {
	var list []*types.Var
	for v := range t.Variables() {
		list = append(list, types.NewParam(0, nil, "", unnamed(v.Type())))
	}
	return types.NewTuple(list...)
}
