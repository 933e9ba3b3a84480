package welvet;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;

/** Runs the tests without Maven: java welvet.Runner CLASS.... Tests are methods whose names begin with test. */
public final class Runner {
    private Runner() {}

    public static void main(String[] classes) throws ReflectiveOperationException {
        int failures = 0;
        for (String name : classes) {
            Method[] methods = Class.forName(name).getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method method : methods) {
                if (!method.getName().startsWith("test")) {
                    continue;
                }
                try {
                    method.invoke(method.getDeclaringClass().getDeclaredConstructor().newInstance());
                    System.out.println("ok   " + name + "." + method.getName());
                } catch (InvocationTargetException e) {
                    failures++;
                    System.out.println("FAIL " + name + "." + method.getName());
                    e.getCause().printStackTrace(System.out);
                }
            }
        }
        System.exit(failures == 0 ? 0 : 1);
    }
}
