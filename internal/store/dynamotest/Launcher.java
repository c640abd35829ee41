import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;

/** Runs DynamoDB Local, which by itself listens on all addresses, on a free port of the loopback interface until its input ends. */
public class Launcher {
  public static void main(String[] args) throws Exception {
    DynamoDBProxyServer local = ServerRunner.createServerFromCommandLineArgs(new String[] {"-inMemory"});
    Field field = DynamoDBProxyServer.class.getDeclaredField("server");
    field.setAccessible(true);
    Server jetty = (Server) field.get(local);
    for (Connector connector : jetty.getConnectors()) {
      connector.setHost("127.0.0.1");
      connector.setPort(0);
    }
    local.safeStart();
    System.out.println("listening on " + jetty.getConnectors()[0].getLocalPort());
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
