package policy

import "slices"

// Layer is a part of a decision. The tool layer says whether the tool may be
// called at all; a file or exec layer is added for each resource about which rows
// have something to say. The strictest wins.
type Layer string

// The layers.
const (
	LayerTool Layer = "tool"
	LayerFile Layer = "file"
	LayerExec Layer = "exec"
)

// resources adds the layers of the resources to the tool's.
func (s *Set) resources(r *Result, c *call, reached []Resource) {
	for i := range reached {
		if r.Decision == Deny {
			return
		}
		*r = r.and(s.resource(&reached[i], i, c))
	}
}

// resource decides about one file or command of a call; the zero Result when no
// row has anything to say about it.
func (s *Set) resource(given *Resource, at int, c *call) Result {
	clean, err := given.clean()
	if err != nil {
		return Result{Decision: Deny, Step: StepInvalid, Layer: layerOf(given), Resource: at}
	}
	switch {
	case clean.Type == TypeFile:
		return s.file(&clean, at, c)
	case len(s.areas.rules) > 0:
		return s.command(&clean, at, c)
	}
	return Result{}
}

// file decides about a file, and about those below a folder that a search reads.
func (s *Set) file(r *Resource, at int, c *call) Result {
	var p pool
	s.areas.findFile(&p, r, r.Path)
	result := pooled(&p, LayerFile, at, c)
	for _, path := range s.areas.below(r) {
		var p pool
		s.areas.findBelow(&p, r, path)
		result = result.orAnd(pooled(&p, LayerFile, at, c))
	}
	return result
}

// orAnd is and for a layer that may have had nothing to say yet.
func (r Result) orAnd(other Result) Result {
	if r.Step == 0 {
		return other
	}
	return r.and(other)
}

// pooled decides by the rules that were found about one file.
func pooled(p *pool, layer Layer, at int, c *call) Result {
	r := Result{Layer: layer, Resource: at}
	decide(&r, p.found.all(), p.allows.all(), c)
	return closedResult(r, p.closed)
}

func layerOf(r *Resource) Layer {
	if r.Type == TypeExec {
		return LayerExec
	}
	return LayerFile
}

// and combines two layers: the stricter decision wins. Of two that ask, the
// request uses the strictest settings of both; of two that allow, the one that
// hangs on an approval is named; else the first.
func (r Result) and(other Result) Result {
	switch {
	case other.Step == 0:
		return r
	case r.Decision != other.Decision:
		if stricter(other.Decision, r.Decision) {
			return other
		}
	case r.Decision == RequireApproval:
		r.Settings = strictest(r.Settings, other.Settings)
	case other.Step == StepApproved && r.Step != StepApproved:
		return other
	}
	return r
}

func stricter(a, b Effect) bool { return a == Deny || a == RequireApproval && b == Allow }

// EvaluateEach decides each layer for itself: the tool's first, then the
// resources in their order, without those about which no row has anything to say.
// [Set.Evaluate] is the strictest of them. It allocates.
func (s *Set) EvaluateEach(req Request) []Result {
	if req.Principal.AgentID != s.agentID {
		return []Result{foreign}
	}
	c := call{who: s.caller(&req.Principal), args: req.Args, definition: req.Definition}
	all := make([]Result, 1, 1+len(req.Resources))
	s.tool(&all[0], &c, req.Tool, req.Server)
	for i := range req.Resources {
		all = append(all, s.resource(&req.Resources[i], i, &c))
	}
	return slices.DeleteFunc(all, func(r Result) bool { return r.Step == 0 })
}

// Layers are the decisions of the layers that had something to say, the
// strictest where a call reaches several resources of one type.
type Layers struct {
	Tool Effect `json:"tool"`
	File Effect `json:"file,omitempty"`
	Exec Effect `json:"exec,omitempty"`
}

func layersOf(results []Result) Layers {
	var l Layers
	for _, r := range results {
		into := map[Layer]*Effect{LayerTool: &l.Tool, LayerFile: &l.File, LayerExec: &l.Exec}[r.Layer]
		if *into == "" || stricter(r.Decision, *into) {
			*into = r.Decision
		}
	}
	return l
}
