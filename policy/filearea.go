package policy

// fileKey names the rows of one sandbox and mode, each of which may be "*".
type fileKey struct{ sandbox, mode string }

// fileArea finds the rows about a path by the directories above it.
type fileArea struct {
	rows     map[string]*bucket // by path prefix
	approved map[string]*bucket // rows that approvals left: each is about the very path
	closed   bool               // some rule closes the layer
}

func (x *areas) addFile(r *rule) {
	if x.files == nil {
		x.files = map[fileKey]*fileArea{}
	}
	key := fileKey{r.area.sandbox, r.area.mode}
	a := x.files[key]
	if a == nil {
		a = &fileArea{rows: map[string]*bucket{}, approved: map[string]*bucket{}}
		x.files[key] = a
	}
	if r.fromApproval() {
		bucketIn(a.approved, r.area.path).add(r)
		return
	}
	bucketIn(a.rows, r.area.path).add(r)
	a.closed = a.closed || r.closes()
}

func (a *fileArea) finish() {
	for _, b := range a.rows {
		b.finish()
	}
	for _, b := range a.approved {
		b.finish()
	}
}

// findFile looks up the path and each directory above it, the longest first.
func (x *areas) findFile(p *pool, r *Resource) {
	if len(x.files) == 0 {
		return
	}
	parts := [...]*fileArea{
		x.files[fileKey{r.Sandbox, r.Mode}], x.files[fileKey{r.Sandbox, "*"}],
		x.files[fileKey{"*", r.Mode}], x.files[fileKey{"*", "*"}],
	}
	for _, a := range parts {
		p.closed = p.closed || a != nil && a.closed
	}
	if r.Missing != "" {
		return
	}
	for _, a := range parts {
		if a != nil {
			p.add(a.approved[r.Path])
		}
	}
	for dir := r.Path; dir != ""; dir = parentDir(dir) {
		for _, a := range parts {
			if a != nil {
				p.add(a.rows[dir])
			}
		}
		p.next()
	}
}
