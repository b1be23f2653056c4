package slackfake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// upload is a file on its way (docs.slack.dev/messaging/working-with-files).
type upload struct {
	app    *app
	name   string
	length int
	data   string
	come   bool
}

func (s *Server) filesURL(a *app, p map[string]string) (answer, error) {
	length, err := strconv.Atoi(p["length"])
	if err != nil || length <= 0 || p["filename"] == "" {
		return nil, refuse("invalid_arguments")
	}
	id := fmt.Sprintf("F0%06d", s.next())
	s.uploads[id] = &upload{app: a, name: p["filename"], length: length}
	return answer{"file_id": id, "upload_url": s.APIURL() + "upload/" + id}, nil
}

func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	file, _, err := r.FormFile("file")
	if err != nil {
		http.Error(w, "no file", http.StatusBadRequest)
		return
	}
	data, err := io.ReadAll(file)
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[strings.TrimPrefix(r.URL.Path, "/api/upload/")]
	if err != nil || u == nil || len(data) != u.length {
		http.Error(w, "not what was announced", http.StatusBadRequest)
		return
	}
	u.data, u.come = string(data), true
	_, _ = fmt.Fprintf(w, "OK - %d", len(data))
}

func (s *Server) filesComplete(a *app, p map[string]string) (answer, error) {
	c, err := s.writable(a, p["channel_id"])
	if err != nil {
		return nil, err
	}
	var files []struct{ ID, Title string }
	if json.Unmarshal([]byte(p["files"]), &files) != nil || len(files) != 1 {
		return nil, refuse("invalid_arguments")
	}
	u := s.uploads[files[0].ID]
	if u == nil || u.app != a || !u.come {
		return nil, refuse("file_not_found")
	}
	delete(s.uploads, files[0].ID)
	m := &Message{
		Channel: c.id, TS: s.stamp(), ThreadTS: s.thread(c, p["thread_ts"]), User: a.BotUser, BotID: a.BotID, App: a.ID,
		Text: p["initial_comment"], File: u.name, Data: u.data,
	}
	c.messages = append(c.messages, m)
	s.notify()
	return answer{"files": []answer{{"id": files[0].ID, "title": files[0].Title}}}, nil
}
