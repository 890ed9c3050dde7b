// SPDX-License-Identifier: MIT
// Worker threads, libuv's pool and an HTTP server in one process.
const { Worker, isMainThread, parentPort, workerData } =
	require("worker_threads");
const crypto = require("crypto");
const http = require("http");
const util = require("util");

const NR_WORKERS = 6, NR_KEYS = 12, NR_REQUESTS = 60;

function run_worker({ number, counts }) {
	let sum = 0;

	for (let i = 0; i < 300000; i++)
		sum = (sum * 31 + i + number) | 0;
	for (let i = 0; i < 1000; i++)
		Atomics.add(counts, 0, 1);
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
	parentPort.postMessage(sum);
}

function start_worker(number, counts) {
	return new Promise((resolve, reject) => {
		const worker = new Worker(__filename,
			{ workerData: { number, counts } });
		worker.on("message", resolve);
		worker.on("error", reject);
	});
}

function request(port, number) {
	return new Promise((resolve, reject) => {
		const sent = http.request({ port, method: "POST" }, (answer) => {
			let text = "";
			answer.on("data", (part) => text += part);
			answer.on("end", () => resolve(Number(text)));
		});
		sent.on("error", reject);
		sent.end("x".repeat(number * 1000));
	});
}

async function serve() {
	const server = http.createServer((incoming, answer) => {
		let length = 0;
		incoming.on("data", (part) => length += part.length);
		incoming.on("end", () => answer.end(String(length)));
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	const port = server.address().port;
	const answers = await all(NR_REQUESTS, (i) => request(port, i));
	server.close();
	return answers.join();
}

function all(nr, start) {
	return Promise.all([...Array(nr).keys()].map(start));
}

async function main() {
	const counts = new Int32Array(new SharedArrayBuffer(4));
	const derive = util.promisify(crypto.pbkdf2);
	const sums = await all(NR_WORKERS, (i) => start_worker(i, counts));
	console.log(sums.join(), counts[0]);
	const keys = await all(NR_KEYS,
		(i) => derive(`key ${i}`, "salt", 500, 16, "sha256"));
	console.log(keys.map((key) => key.toString("hex")).join());
	console.log(await serve());
}

if (isMainThread)
	main();
else
	run_worker(workerData);
