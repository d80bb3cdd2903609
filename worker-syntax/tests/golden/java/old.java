package x;

public class X extends Base {
    private int count;

    public X(int count) {
        this.count = count;
    }

    @Override
    public String toString() {
        return "X" + count;
    }

    enum Kind { A, B }
}
