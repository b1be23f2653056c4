package policy

import "slices"

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

// fileParts are the areas that hold for a sandbox and a mode. ownParts of them are
// the mode's own.
func (x *areas) fileParts(r *Resource) (parts [6]*fileArea) {
	parts = [...]*fileArea{
		x.files[fileKey{r.Sandbox, r.Mode}], x.files[fileKey{r.Sandbox, "*"}],
		x.files[fileKey{"*", r.Mode}], x.files[fileKey{"*", "*"}], nil, nil,
	}
	if r.Mode == ModeSearch {
		parts[4], parts[5] = x.files[fileKey{r.Sandbox, ModeRead}], x.files[fileKey{"*", ModeRead}]
	}
	return parts
}

const ownParts = 4

// findFile looks up the path and each directory above it, the longest first. asked
// is the path that the call names: what approvals left is about that, and in its very
// mode, since somebody who let a folder be listed has not let it be searched.
func (x *areas) findFile(p *pool, r *Resource, asked string) {
	if len(x.files) == 0 {
		return
	}
	parts := x.fileParts(r)
	for _, a := range parts {
		p.closed = p.closed || a != nil && a.closed
	}
	if r.Missing != "" {
		return
	}
	for _, a := range parts[:ownParts] {
		if a != nil {
			p.add(a.approved[asked])
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

// below lists, in order, the paths below the folder that a search reads about which
// there are rows; none for another mode.
func (x *areas) below(r *Resource) (paths []string) {
	if r.Type != TypeFile || r.Mode != ModeSearch || r.Missing != "" {
		return nil
	}
	for _, a := range x.fileParts(r) {
		if a == nil {
			continue
		}
		for path := range a.rows {
			if path != r.Path && within(path, r.Path) {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// findBelow is find for a path below the folder that a search reads.
func (x *areas) findBelow(p *pool, search *Resource, path string) {
	one := *search
	one.Path = path
	x.findFile(p, &one, search.Path)
}
