// A tab that nobody sees gives its stream of events back: over plain HTTP a browser has six connections to a host, and the
// seventh tab would wait for one. When it is seen again it connects, and the page fetches the changes.
document.addEventListener("htmx:beforeRequest", (event) => {
	if (document.hidden && event.target.matches("[hx-trigger*=every]")) event.preventDefault(); // and does not poll either
});

// The worker is heard every 2 s. When it is not, the page asks for itself, and soon says that it is old.
const askAfter = 3000, awayAfter = 7000;
let heard = performance.now(), checked = heard, asked = heard;
function hear() {
	heard = performance.now();
	show(false);
}
function show(away) {
	const notice = document.getElementById("away");
	if (!notice || notice.hidden === !away) return;
	notice.hidden = !away;
	document.body.classList.toggle("away", away);
	if (!away) htmx.trigger("#fetch", "sse:reset");
}
document.addEventListener("htmx:afterRequest", (event) => {
	if (event.detail.successful) hear();
});
function watch(reconnect) {
	return setInterval(() => {
		const now = performance.now();
		if (document.hidden || now - checked > askAfter) heard = now; // nobody listened
		checked = now;
		if (now - heard > awayAfter) show(true);
		if (now - heard < askAfter || now - asked < askAfter) return;
		asked = now;
		htmx.trigger("#fetch", "sse:reset");
		if (now - heard > awayAfter) reconnect(); // a connection whose other end has vanished never fails
	}, 1000);
}

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
			clearInterval(watching);
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
			for (const name of ["open", "ready", "reset", "change", "alive"]) stream.addEventListener(name, hear);
			stream.onopen = (event) => source.onopen?.(event);
			stream.onerror = (event) => source.onerror?.(event);
			for (const [name, listener] of listeners) stream.addEventListener(name, listener);
		}
	}
	document.addEventListener("visibilitychange", follow);
	const watching = watch(() => {
		stream?.close();
		stream = null;
		follow();
	});
	follow();
	return source;
};
