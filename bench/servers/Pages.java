// SPDX-License-Identifier: MIT
/* A page: its thread sleeps for 10 ms. Arguments: the port, the number of
 * threads. */
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.concurrent.Executors;

public class Pages {
	public static void main(String[] args) throws Exception {
		byte[] text = new byte[1000];
		HttpServer server = HttpServer.create(new InetSocketAddress(
			"127.0.0.1", Integer.parseInt(args[0])), 1100);

		Arrays.fill(text, (byte)'x');
		server.setExecutor(Executors.newFixedThreadPool(
			Integer.parseInt(args[1])));
		server.createContext("/page", request -> {
			try {
				Thread.sleep(10);
			} catch (InterruptedException e) {
				return;
			}
			request.sendResponseHeaders(200, text.length);
			request.getResponseBody().write(text);
			request.close();
		});
		server.start();
	}
}
