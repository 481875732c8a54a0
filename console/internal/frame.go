
// query returns a copy of the parameters of this page.
func (f *frame) query() url.Values {
	v := url.Values{}
	for name, values := range f.Query {
		v[name] = slices.Clone(values)
	}
	return v
}

// Since returns how long ago an instant was.
func (f *frame) Since(at any) time.Duration { return max(0, f.Now.Sub(instant(at))) }
