// A tab that nobody sees gives its stream of events back: over plain HTTP a browser has six connections to a host, and the
// seventh tab would wait for one. When it is seen again it connects, and the page fetches the changes.
document.addEventListener("htmx:beforeRequest", (event) => {
	if (document.hidden && event.target.matches("[hx-trigger*=every]")) event.preventDefault(); // and does not poll either
});
htmx.createEventSource = (url) => {
	const listeners = [];
	let stream = null, ended = false;
	const source = {
		onopen: null,
		onerror: null,
		get readyState() { return stream ? stream.readyState : ended ? 2 : 0; },
		addEventListener(name, listener) {
			listeners.push([name, listener]);
			stream?.addEventListener(name, listener);
		},
		removeEventListener(name, listener) {
			const at = listeners.findIndex(([n, l]) => n === name && l === listener);
			if (at >= 0) listeners.splice(at, 1);
			stream?.removeEventListener(name, listener);
		},
		close() {
			ended = true;
			document.removeEventListener("visibilitychange", follow);
			stream?.close();
		},
	};
	function follow() {
		if (document.hidden) {
			stream?.close();
			stream = null;
		} else if (!stream) {
			stream = new EventSource(url);
			stream.onopen = (event) => source.onopen?.(event);
			stream.onerror = (event) => source.onerror?.(event);
			for (const [name, listener] of listeners) stream.addEventListener(name, listener);
		}
	}
	document.addEventListener("visibilitychange", follow);
	follow();
	return source;
};
